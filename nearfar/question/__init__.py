"""What the checks ask of a node, read from their sources without ReFrame.

Needs: nothing of the package.
"""

from __future__ import annotations

from . import catalogue
from .catalogue import Check

__all__ = [
    "Check",
    "catalogue",
]
