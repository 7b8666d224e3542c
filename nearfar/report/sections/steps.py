"""Cells of several flows at once as places of a table: their total, and what the document adds in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar import cells
from nearfar.cells import Cell
from nearfar.report.blocks import Block, Chart, Entry, Group, Row, Text, table
from nearfar.report.charts import ABSENT, SKIPPED, CellGaps, Place
from nearfar.report.figures import SIGNS, Figure, number, parsed, shown_together, span

#: What stands where a run did not ask.
NOT_RUN = Entry("– not run", mark="self", tip="this run did not ask for it")
_STATES = {"failed": f"{SIGNS['FAIL']} failed", SKIPPED: "– skipped", "missing": f"{SIGNS['INDETERMINATE']} missing"}
_LONGEST_REASON = 64
#: So many rows are open at first.
_OPEN = 8

Flows = list[tuple[cells.Flow, Mapping[str, Any]]]


def flows_by_cell(document: Mapping[str, Any]) -> dict[Cell, Flows]:
    """The flows of a document's results with their entries."""
    results = {cell: each for each in document.get("results", []) if (cell := parsed(each.get("cell"))) is not None}
    return {
        cell: [(flow.flows[0], entry) for entry in each.get("flows") or [] if (flow := parsed(entry.get("flow")))]
        for cell, each in results.items()
    }


def total_of(cell: Cell, figures: Sequence[Figure]) -> Figure | None:
    """The figure of a cell's total, or of its only flow."""
    return next((f for f in figures if f.cell == cell and f.flow is None and not f.is_ratio), None)


def part_of_alone(total: Figure, flows: Flows) -> list[str]:
    """``95 % of 54.1 alone``: a total beside what its flows carry one after the other; nothing where that is not known of each."""
    solo = [(entry.get("solo") or {}).get("median") for _, entry in flows]
    known = [value for value in solo if isinstance(value, (int, float))]
    alone = sum(known) if len(known) == len(solo) else 0.0
    return [f"{total.value / alone * 100:.0f} % of {number(alone)} alone"] if alone and total.value else []


def fairness_words(rates: Sequence[float]) -> list[str]:
    """``each 24.5–24.7, fairness 0.99``: what flows have, the least over the most."""
    fair = min(rates) / max(rates) if rates and max(rates) else 0.0
    return [f"each {span(rates)}, fairness {number(fair, '1')}"] if rates else []


def entry_of(total: Figure, others: Sequence[Figure], said: Sequence[str]) -> Entry:
    """A cell's total with the worst verdict of all its figures."""
    mark = shown_together(total, others)
    below = [mark] if mark in ("FAIL", "DEGRADED") else []
    below += [] if total.best_case else said
    if total.share is not None:
        origin = f", {total.reference.origin}" if total.reference and not total.published_beside else ""
        below.append(f"{total.against}{origin}")
    elif total.best_case:
        below.append(total.bound_words)
    classes = f"{mark}{' bound' if total.best_case else ''}"
    return Entry(total.written, tuple(below), classes, total.sentence, total.anchor, sign=SIGNS[mark])


def gap_entry(place: Place) -> Entry:
    """What stands where a figure is missing."""
    if place.state == ABSENT:
        return NOT_RUN
    why = place.reason if len(place.reason) <= _LONGEST_REASON else f"{place.reason[: _LONGEST_REASON - 1]}…"
    return Entry(_STATES[place.state], (why,), f"none {place.state}", place.reason, place.anchor)


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
