"""The quantities that a cell is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.cells import Cell


def of_cell(subject: Any) -> Sequence[str]:
    """A rate of each cell, of STREAM or of a copy; of other subjects any quantity answers."""
    if not isinstance(subject, Cell):
        return ()
    return ("stream",) if subject.flows[0].kernel else ("copy",)
