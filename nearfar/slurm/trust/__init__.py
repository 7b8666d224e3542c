"""Whose files are believed, and what a program that runs as root may rely on.

Needs: base.
"""

from __future__ import annotations

from . import on_behalf, root_safe
from .trust import NotOurs, Trust, own
