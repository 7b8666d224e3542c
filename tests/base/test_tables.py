"""Tables of commands: columns, edges, what a cell may hold."""

from __future__ import annotations

from nearfar.base import columns


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [["flow", "GB/s", "limited by"], ["n0:g0", "5.70", "g0.h2d"], ["  g0:n0", "unknown", ""]]
    assert columns(rows, right=[1]) == [
        "flow        GB/s  limited by",
        "n0:g0       5.70  g0.h2d",
        "  g0:n0  unknown",
    ]


def test_cells_stay_as_they_are() -> None:
    """Numbers keep their digits, indentation its blanks, colours count as no column."""
    assert columns([["1.50", "1e3", "0012"]]) == ["1.50  1e3  0012"]
    assert columns([["\033[1;32mPASS\033[0m", "x"], ["FAIL ", "y"]]) == ["\033[1;32mPASS\033[0m   x", "FAIL   y"]
    assert columns([]) == []
