"""Whose files are believed, and what a program that runs as root may rely on.

Needs: base.
"""

from __future__ import annotations

from .trust import NotOurs, Trust, go_on_as_owner, own, owner_of, refuse_changeable, refuse_changeable_tree, typed_as
