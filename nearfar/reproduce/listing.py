"""The list of all papers, with the number of their rows by state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from nearfar.base import columns

from .paper_files import STATES, Paper


def list_lines(known: Mapping[str, Paper]) -> list[str]:
    """The papers with the number of their rows by state, and each row once."""
    listed = listing(known)
    table: list[tuple[str, ...]] = [("paper", "rows", *STATES, "title")]
    for name, paper in listed["papers"].items():
        table.append((name, str(paper["rows"]), *(str(paper[state]) for state in STATES), paper["title"]))
    table.append(("each row once", str(listed["rows"]), *(str(listed[state]) for state in STATES), ""))
    return columns(table, right=[1, 2, 3, 4])


def listing(known: Mapping[str, Paper]) -> dict[str, Any]:
    """``nearfar-reproduce-list/1``."""
    every = {row.id: row for paper in known.values() for row in paper.rows}
    papers = {
        name: {"title": paper.title, "rows": len(paper.rows), **_by_state(paper.rows)} for name, paper in known.items()
    }
    return {"schema": "nearfar-reproduce-list/1", "papers": papers, "rows": len(every), **_by_state(every.values())}


def _by_state(rows: Any) -> dict[str, int]:
    counts = Counter(row.state for row in rows)
    return {state: counts[state] for state in STATES}
