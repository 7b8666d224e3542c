"""Rows of text in columns, as commands print them."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """A line for each row, the heading's too: columns two blanks apart, those in ``right`` (by position, 0 the first) at the
    right edge, as numbers stand."""
    if not rows:
        return []
    from tabulate import tabulate  # here: most commands print no table, and it takes 0.1 s to import

    sides = ["right" if column in right else "left" for column in range(len(rows[0]))]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=sides, preserve_whitespace=True)
    return [line.rstrip() for line in text.split("\n")]
