"""Whose files are believed, and what a program that runs as root may rely on.

Needs: base.
"""

from __future__ import annotations

from . import on_behalf
from .trust import NotOurs, Trust, own, refuse_changeable, refuse_changeable_tree
