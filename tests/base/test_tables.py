"""Tables of commands: columns, edges, what a cell may hold."""

from __future__ import annotations

from nearfar.base import columns, grouped, listed


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [["flow", "GB/s", "limited by"], ["n0:g0", "5.70", "g0.h2d"], ["  g0:n0", "unknown", ""]]
    assert columns(rows, right=[1]) == [
        "flow        GB/s  limited by",
        "n0:g0       5.70  g0.h2d",
        "  g0:n0  unknown",
    ]


def test_cells_stay_as_they_are() -> None:
    """Numbers keep their digits, indentation its blanks."""
    assert columns([["1.50", "1e3", "0012"]]) == ["1.50  1e3  0012"]
    assert columns([]) == []


def test_values_are_grouped_in_their_order() -> None:
    assert grouped([("b", 1), ("a", 2), ("b", 3)]) == {"b": [1, 3], "a": [2]}


def test_many_names_are_cut() -> None:
    assert listed(["a", "b"], 2) == "a, b" and listed(["a", "b", "c"], 2) == "a, b and 1 more"
