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
    rows = [("row", "paper", "place", "state", "what is in it, and what no command asks")]
    for row in listed["each"]:
        why = f"; not: {row['reason']}" if row["reason"] else ""
        rows.append((str(row["id"]), row["paper"], row["place"], row["state"], f"{row['what']}{why}"))
    return [*columns(table, right=[1, 2, 3, 4]), "", *columns(rows, right=[0])]


def listing(known: Mapping[str, Paper]) -> dict[str, Any]:
    """``nearfar-reproduce-list/1``."""
    every = {row.id: row for paper in known.values() for row in paper.rows}
    papers = {
        name: {"title": paper.title, "rows": len(paper.rows), **_by_state(paper.rows)} for name, paper in known.items()
    }
    each = [
        {"id": row.id, "paper": row.paper, "place": row.place, "what": row.what, "state": row.state, "command": row.command or None,
         "reason": row.lacks or row.not_asked or None}
        for _, row in sorted(every.items())
    ]  # fmt: skip
    counts = _by_state(every.values())
    return {"schema": "nearfar-reproduce-list/1", "papers": papers, "rows": len(every), **counts, "each": each}


def _by_state(rows: Any) -> dict[str, int]:
    counts = Counter(row.state for row in rows)
    return {state: counts[state] for state in STATES}
