"""Many GPUs at once, and tasks that share them: a table of steps for each ramp, tables of GPUs that exchange data.

A step's total and verdict come from the figures; what each GPU and each task had, and what the flows carry alone, from
the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nearfar.base import grouped
from nearfar.cells import (
    ALL_TO_ONE,
    ONE_TO_ALL,
    ONE_WAY,
    WAYS,
    Cell,
    Flow,
    Load,
    bisection,
    exchange_of,
    load_of,
)
from nearfar.report.blocks import Block, Entry, Group, Row, Text, row, table
from nearfar.report.charts import NOT_RUN, SKIPPED, CellGaps, figure_entry, gap_entry
from nearfar.report.figures import Figure, class_words, number, parsed, plural, shown_together, span
from nearfar.topology import Node

_TITLES = {
    "spread": ("One GPU more at a time", "One GPU more at a time, spread over packages"),
    "packed": ("The GPUs of one package",) * 2,
    "across": ("Across the package link",) * 2,
}
_CAPTION = "the total of all GPUs; the rate of each GPU; the total compared with the sum of the flows alone"
_CAPTION_OF_FLOWS = "the total of all flows; the rate of each flow; the total compared with the sum of the flows alone"
_CAPTION_OF_TASKS = "the total of all GPUs; the rate of each task; the slowest compared with its fair share"
_COLUMNS = {"h2d": "Host to device", "d2h": "Device to host", "both": "Both at once"}
#: So many rows are open at first.
_OPEN = 8

Flows = list[tuple[Flow, Mapping[str, Any]]]


class _Measured:
    """What was measured of cells: their totals, and what each flow had."""

    def __init__(self, figures: Sequence[Figure], document: Mapping[str, Any], why: CellGaps) -> None:
        self.why = why
        self._figures = grouped((figure.cell, figure) for figure in figures)
        results = {cell: each for each in document.get("results", []) if (cell := parsed(each.get("cell"))) is not None}
        self._flows: dict[Cell, Flows] = {
            cell: [(flow.flows[0], entry) for entry in each.get("flows") or [] if (flow := parsed(entry.get("flow")))]
            for cell, each in results.items()
        }
        self.asked = list(dict.fromkeys([*filter(None, self._figures), *why.by_cell]))

    def total(self, cell: Cell) -> Figure | None:
        """The figure of a cell's total, or of its only flow."""
        return next((f for f in self._figures.get(cell, ()) if f.flow is None and not f.is_ratio), None)

    def rates(self, cell: Cell, load: Load) -> list[float]:
        """What each GPU had, of all its flows; where tasks share GPUs the slowest, the mean and the fastest of a task."""
        if load.tasks > 1:
            names = ("slowest_task", "mean_task", "fastest_task")
            return [f.value for f in self._figures[cell] if f.derived in names and f.value is not None]
        medians = ((flow.gpus[0], (entry.get("rate") or {}).get("median")) for flow, entry in self._flows.get(cell, []))
        return [
            sum(each) for each in grouped((g, rate) for g, rate in medians if isinstance(rate, (int, float))).values()
        ]

    def entry(self, cell: Cell | None, load: Load | None = None) -> Entry:
        """A cell's total with the worst verdict of all its figures; ``load``: of a ramp's step."""
        total = None if cell is None else self.total(cell)
        if cell is None or total is None:
            return NOT_RUN if cell is None else gap_entry(self.why.place(cell))
        mine, words = self._figures[cell], list[str]()
        if load is None:
            # How one to all divides has no reference, and is no reason to call the judged total unjudged.
            shares = [f.value for f in mine if f.flow is not None and f.value is not None]
            words += [class_words(total.path_class), *_fairness(shares)]
        elif load.tasks > 1:
            words += [f"each task {span(rates)}" for rates in [self.rates(cell, load)] if rates]
            fair = [f.value for f in mine if f.derived == "task_over_fair" and f.value is not None]
            words += [f"the slowest has {number(min(fair), '1')} of 1/{load.tasks}"] if fair else []
        elif len(rates := self.rates(cell, load)) > 1:
            words += _fairness(rates)
        if load is None or (load.tasks == 1 and len(load.gpus) > 1):
            words += self._part_of_alone(cell, total)
        below = [] if total.best_case else words
        if total.share is not None:
            origin = f", {total.reference.origin}" if total.reference and not total.published_beside else ""
            below.append(f"{total.against}{origin}")
        elif total.best_case:
            below.append(total.bound_words)
        return figure_entry(total, shown_together(total, mine), below)

    def _part_of_alone(self, cell: Cell, total: Figure) -> list[str]:
        """``95 % of 54.1 alone``: beside what its flows carry one after the other; nothing where that is not known of each."""
        solo = [(entry.get("solo") or {}).get("median") for _, entry in self._flows.get(cell, [])]
        known = [value for value in solo if isinstance(value, (int, float))]
        alone = sum(known) if len(known) == len(solo) else 0.0
        return [f"{total.value / alone * 100:.0f} % of {number(alone)} alone"] if alone and total.value else []


def _fairness(rates: Sequence[float]) -> list[str]:
    """``each 24.5–24.7, fairness 0.99``: what flows have, the least over the most."""
    fair = min(rates) / max(rates) if rates and max(rates) else 0.0
    return [f"each {span(rates)}, fairness {number(fair, '1')}"] if rates else []


def ramps(figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None) -> list[Block]:
    """The ramps of a check; none where no cell is of several GPUs or tasks."""
    if node is None:
        return []
    measured = _Measured(figures, document, why)
    loads = {cell: load for cell in measured.asked if (load := load_of(node, cell)) is not None}
    if not any(len(load.gpus) > 1 or load.tasks > 1 for load in loads.values()):
        return []
    if any(load.tasks > 1 for load in loads.values()):
        return _ramp("Tasks that share every GPU, all GPUs at once", _CAPTION_OF_TASKS, loads, measured)
    several = len({gpu.package for gpu in node.gpus}) > 1
    by_ramp = grouped((load.ramp, (cell, load)) for cell, load in loads.items())
    named = ((titles[several], dict(by_ramp.get(name, ()))) for name, titles in _TITLES.items())
    return [block for title, mine in named for block in _ramp(title, _CAPTION, mine, measured)]


def _ramp(title: str, caption: str, loads: Mapping[Cell, Load], measured: _Measured) -> list[Block]:
    """A row for each set of GPUs, or each number of tasks, and a column for each way."""
    at = {(each.package or 0, len(each.gpus), each.gpus, each.tasks, each.ways): cell for cell, each in loads.items()}
    ways = [way for way in WAYS if any(load.ways == way for load in loads.values())]
    rows = []
    for step in sorted({key[:-1] for key in at}):
        _, count, gpus, tasks = step
        label = Entry(plural(count, "GPU"), (" ".join(f"g{gpu}" for gpu in gpus),), "label")
        if caption == _CAPTION_OF_TASKS:
            label = Entry(f"{plural(tasks, 'task')} a GPU", mark="label")
        cells = [at.get((*step, way)) for way in ways]
        rows.append(row(label, *(measured.entry(cell, loads.get(cell) if cell else None) for cell in cells)))
    return _steps(title, caption, [_COLUMNS[way] for way in ways], rows, list(loads), measured.why)


def exchange_tables(
    figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None
) -> list[Block]:
    """The tables of exchanges between three GPUs or more; none where no cell is one."""
    measured = _Measured(figures, document, why)
    known = {cell: found for cell in measured.asked if (found := exchange_of(cell)) is not None}
    of_hubs = {(each.hub, each.pattern): cell for cell, each in known.items() if each.hub is not None}
    hubs = []
    for hub in sorted({hub for hub, _ in of_hubs if hub is not None}):
        cells = [of_hubs.get((hub, way)) for way in (ONE_TO_ALL, ALL_TO_ONE)]
        flows = next(cell.flows for cell in cells if cell is not None)
        others = dict.fromkeys(gpu for flow in flows for gpu in flow.gpus if gpu != hub)
        label = Entry(f"GPU {hub}", (" ".join(f"g{gpu}" for gpu in others),), "label")
        hubs.append(row(label, *map(measured.entry, cells)))
    # A row for each set of pairs and direction; the halves of the node say that they are.
    halves = {_unordered(e.pairs) for cell in bisection(node) if (e := exchange_of(cell))} if node else set()
    of_pairs = {cell: each for cell, each in known.items() if each.pairs}
    pairs = []
    for cell, exchange in of_pairs.items():
        one_way = exchange.pattern == ONE_WAY
        half = "Half to half" if one_way else "Half with half"
        name = half if _unordered(exchange.pairs) in halves else "Round"
        words = " ".join(f"g{a}{'→' if one_way else '↔'}g{b}" for a, b in exchange.pairs)
        pairs.append(row(Entry(name, (words,), "label"), measured.entry(cell)))
    columns = ("To all, each reads", "From all, each writes")
    return [
        *_steps("One GPU with all other GPUs", _CAPTION_OF_FLOWS, columns, hubs, of_hubs.values(), why),
        *_steps("Disjoint pairs at once", _CAPTION_OF_FLOWS, ("All at once",), pairs, of_pairs, why),
    ]


def _unordered(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in pairs))


def _steps(
    title: str, caption: str, columns: Sequence[str], rows: Sequence[Row], asked: Iterable[Cell], why: CellGaps
) -> list[Block]:
    """A table of cells; a sentence where every one of them was skipped, nothing without rows."""
    if not rows:
        return []
    gaps = [why.place(cell) for cell in asked]
    if gaps and all(gap.state == SKIPPED for gap in gaps):
        reason = f"– No figure here: every cell was skipped. {gaps[0].reason}"
        return [Group(title, (Text((reason,), "small nothing"),))]
    listed = table(["", *columns], rows, caption=f"GB/s, {caption}", kind="heat steps")
    return [Group(title, (listed,), folded=True if len(rows) > _OPEN else None, kind="ramp-figure")]
