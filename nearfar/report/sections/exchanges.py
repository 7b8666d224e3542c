"""Several GPUs that exchange data at once: a table of the GPUs, one to all and all to one, and a table of disjoint pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from nearfar.cells import ALL_TO_ONE, ONE_TO_ALL, ONE_WAY, Cell, Exchange, bisection, exchange_of
from nearfar.report.charts import FIGURE, CellGaps, Place
from nearfar.report.figures import Figure, class_words, number, parsed, shown_together, span
from nearfar.topology import Node

from .many_gpus import Ramp, RampRow, StepCell, alone_together, flows_of, nothing

_CAPTION = "the total of all flows; what each flow has; the total beside what the flows carry alone, added up"
_WORDS = {ONE_TO_ALL: "one to all", ALL_TO_ONE: "all to one"}


def exchange_tables(figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None) -> list[Ramp]:
    """The tables; none where no cell is an exchange between three GPUs or more."""
    asked = [f.cell for f in figures if f.cell is not None] + [*why.failed, *why.skipped, *why.missing]
    known = {cell: found for cell in dict.fromkeys(asked) if (found := exchange_of(cell)) is not None}
    results = {cell: r for r in document.get("results", []) if (cell := parsed(r.get("cell"))) is not None}
    steps = {cell: _step(cell, figures, results.get(cell), why) for cell in known}
    hubs = [_hub_row(hub, known, steps) for hub in sorted({e.hub for e in known.values() if e.hub is not None})]
    made = [
        _table("One GPU with all others", ("To all, each reads", "From all, each writes"), hubs),
        _table("Disjoint pairs at once", ("All at once",), _pairs(known, steps, node)),
    ]
    return [table for table in made if table.rows]


def _table(title: str, columns: tuple[str, ...], rows: list[RampRow]) -> Ramp:
    everything = [step for row in rows for step in row.steps if step is not None]
    return Ramp(title, _CAPTION, columns, tuple(rows), Markup(""), nothing(everything) if everything else None)


def _hub_row(hub: int, known: Mapping[Cell, Exchange], steps: Mapping[Cell, StepCell]) -> RampRow:
    def of(pattern: str) -> StepCell | None:
        return next((steps[cell] for cell, e in known.items() if (e.hub, e.pattern) == (hub, pattern)), None)

    cell = next(cell for cell, exchange in known.items() if exchange.hub == hub)
    others = dict.fromkeys(gpu for flow in cell.flows for gpu in flow.gpus if gpu != hub)
    return RampRow(f"GPU {hub}", " ".join(f"g{gpu}" for gpu in others), (of(ONE_TO_ALL), of(ALL_TO_ONE)))


def _pairs(known: Mapping[Cell, Exchange], steps: Mapping[Cell, StepCell], node: Node | None) -> list[RampRow]:
    """A row for each set of pairs and direction; the halves of the node say that they are."""
    halves = {_unordered(e.pairs) for cell in bisection(node) if (e := exchange_of(cell))} if node else set()
    rows = []
    for cell, exchange in known.items():
        if exchange.pairs:
            one_way = exchange.pattern == ONE_WAY
            half = "Half to half" if one_way else "Half with half"
            label = half if _unordered(exchange.pairs) in halves else "Round"
            sign = "→" if one_way else "↔"
            rows.append(RampRow(label, " ".join(f"g{a}{sign}g{b}" for a, b in exchange.pairs), (steps[cell],)))
    return rows


def _unordered(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in pairs))


def _step(cell: Cell, figures: list[Figure], result: Mapping[str, Any] | None, why: CellGaps) -> StepCell:
    mine = [f for f in figures if f.cell == cell]
    total = next((f for f in mine if f.flow is None and not f.is_ratio), None)
    if total is None:
        return StepCell(why.place(cell), (), "", False)
    parts = tuple(("", f) for f in mine if f.flow is not None)
    place = Place(FIGURE, total, parts, total.reason or "")
    shares = [f.value for _, f in parts if f.value is not None]
    words = [class_words(total.path_class)]
    if shares and max(shares) > 0 and not total.best_case:
        words.append(f"each {span(shares)}, fairness {number(min(shares) / max(shares), '1')}")
    alone = alone_together(flows_of(result))
    if alone and total.value and not total.best_case:
        words.append(f"{total.value / alone * 100:.0f} % of {number(alone)} alone")
    # How one to all divides has no reference, and is no reason to call the judged total unjudged.
    return StepCell(place, tuple(words), shown_together(total, mine), False)
