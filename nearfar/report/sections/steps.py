"""Cells of several flows at once as places of a table: their total, and what the document adds in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar import cells
from nearfar.cells import Cell
from nearfar.report.blocks import Block, Chart, Entry, Group, Row, Text, table
from nearfar.report.charts import ABSENT, SKIPPED, CellGaps, Place
from nearfar.report.figures import SIGNS, Figure, parsed, shown_together

#: What stands where a run did not ask.
NOT_RUN = Entry("– not run", mark="self", tip="this run did not ask for it")
_STATES = {"failed": f"{SIGNS['FAIL']} failed", SKIPPED: "– skipped", "missing": f"{SIGNS['INDETERMINATE']} missing"}
_LONGEST_REASON = 64
#: So many rows are open at first.
_OPEN = 8

Flows = list[tuple[cells.Flow, Mapping[str, Any]]]


def results_by_cell(document: Mapping[str, Any]) -> dict[Cell, Mapping[str, Any]]:
    """The results of a document whose subjects are cells."""
    return {cell: each for each in document.get("results", []) if (cell := parsed(each.get("cell"))) is not None}


def flows_of(result: Mapping[str, Any] | None) -> Flows:
    """The flows of a document's result with their entries."""
    entries = (result or {}).get("flows") or []
    return [(flow.flows[0], entry) for entry in entries if (flow := parsed(entry.get("flow")))]


def alone_together(flows: Flows) -> float | None:
    """What the flows carry one after the other, added up; None where that is not known of each."""
    solo = [(entry.get("solo") or {}).get("median") for _, entry in flows]
    known = [value for value in solo if isinstance(value, (int, float))]
    return sum(known) if known and len(known) == len(solo) else None


def total_of(cell: Cell, figures: Sequence[Figure]) -> Figure | None:
    """The figure of a cell's total, or of its only flow."""
    return next((f for f in figures if f.cell == cell and f.flow is None and not f.is_ratio), None)


def entry_of(total: Figure, others: Sequence[Figure], said: Sequence[str], repeated: bool = False) -> Entry:
    """A cell's total with the worst verdict of all its figures. ``repeated``: it stands in another table already."""
    mark = shown_together(total, others)
    below = [mark] if mark in ("FAIL", "DEGRADED") else []
    below += [] if total.best_case else said
    if total.share is not None:
        origin = f", {total.reference.origin}" if total.reference and not total.published_beside else ""
        below.append(f"{total.against}{origin}")
    elif total.best_case:
        below.append(total.bound_words)
    classes = f"{mark}{' bound' if total.best_case else ''}"
    anchor = "" if repeated else total.anchor
    return Entry(total.written, tuple(below), classes, total.sentence, anchor, sign=SIGNS[mark])


def gap_entry(place: Place, repeated: bool = False) -> Entry:
    """What stands where a figure is missing."""
    if place.state == ABSENT:
        return NOT_RUN
    why = place.reason if len(place.reason) <= _LONGEST_REASON else f"{place.reason[: _LONGEST_REASON - 1]}…"
    return Entry(_STATES[place.state], (why,), f"none {place.state}", place.reason, "" if repeated else place.anchor)


def steps(
    title: str,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    asked: Sequence[Cell],
    why: CellGaps,
    chart: Sequence[Chart] = (),
) -> list[Block]:
    """A table of cells with its chart; a sentence where every one of them was skipped, nothing without rows."""
    if not rows:
        return []
    if asked and all(cell in why.skipped for cell in asked):
        reason = f"– No figure here: every cell was skipped. {why.skipped[asked[0]]}"
        return [Group(title, (Text((reason,), "small nothing"),))]
    listed = table(["", *columns], rows, caption=f"GB/s, {caption}", kind="heat steps")
    return [Group(title, (listed, *chart), folded=True if len(rows) > _OPEN else None, kind="ramp-figure")]
