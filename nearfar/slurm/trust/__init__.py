"""Whose files are believed, and what a program that runs as root may rely on.

Needs: base.
"""

from __future__ import annotations

from . import root_safe
from .trust import NotOurs, Trust, own

__all__ = [
    "NotOurs",
    "Trust",
    "own",
    "root_safe",
]
