"""Many GPUs at once, and tasks that share them: a table of steps and a curve for each ramp, tables of GPUs that exchange data.

A step's total and verdict come from the figures; what each GPU and each task had, and what the flows carry alone, from
the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from nearfar.base import grouped
from nearfar.cells import (
    ALL_TO_ONE,
    ONE_TO_ALL,
    ONE_WAY,
    WAYS,
    Cell,
    Exchange,
    Flow,
    Load,
    bisection,
    exchange_of,
    load_of,
)
from nearfar.report.blocks import Block, Chart, Entry, Group, Row, Text, row, table
from nearfar.report.charts import NOT_RUN, SKIPPED, CellGaps, curves, figure_entry, gap_entry
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


@dataclass(frozen=True)
class _Step:
    """A cell of a ramp. ``span``: the slowest, the mean and the fastest GB/s of a GPU, or of a task where tasks share GPUs."""

    cell: Cell
    load: Load
    entry: Entry
    total: Figure | None = None
    span: tuple[float, float, float] | None = None


def ramps(figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None) -> list[Block]:
    """The ramps of a check; none where no cell is of several GPUs or tasks."""
    if node is None:
        return []
    asked = [f.cell for f in figures if f.cell is not None]
    loads = {cell: load for cell in dict.fromkeys([*asked, *why.by_cell]) if (load := load_of(node, cell)) is not None}
    if not any(len(load.gpus) > 1 or load.tasks > 1 for load in loads.values()):
        return []
    flows = flows_by_cell(document)
    found = [_step(cell, load, figures, flows.get(cell, []), why) for cell, load in loads.items()]
    if any(load.tasks > 1 for load in loads.values()):
        return _sharing(found, why)
    several = len({gpu.package for gpu in node.gpus}) > 1
    return [block for name in _TITLES for block in _saturation(name, found, node, several, why)]


def _saturation(name: str, found: list[_Step], node: Node, several: bool, why: CellGaps) -> list[Block]:
    mine = [step for step in found if step.load.ramp == name]
    if not mine:
        return []
    if name == "packed":
        # One GPU alone is the first step of this ramp too.
        alone = (mine[0].load.gpus[0],)
        first_steps = [s for s in found if s.load.ramp == "spread" and s.load.gpus == alone]
        mine = [replace(step, entry=replace(step.entry, anchor="")) for step in first_steps] + mine

    def order(gpus: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        first = node.gpu(gpus[0])
        package = first.package if name == "packed" and first is not None else None
        return package or 0, len(gpus), gpus

    rows = []
    for gpus in sorted({step.load.gpus for step in mine}, key=order):
        label = Entry(plural(len(gpus), "GPU"), (" ".join(f"g{gpu}" for gpu in gpus),), "label")
        rows.append(_row(label, [step for step in mine if step.load.gpus == gpus], WAYS))
    least = min(order(step.load.gpus)[0] for step in mine)
    growing = [step for step in mine if order(step.load.gpus)[0] == least and name != "across"]
    chart = _chart(curves.totals(_by_way(growing)), "the reference", WAYS)
    asked = [step.cell for step in mine]
    return steps(_TITLES[name][several], _CAPTION, list(_COLUMNS.values()), rows, asked, why, chart)


def _row(label: Entry, found: Sequence[_Step], ways: Sequence[str]) -> Row:
    at = {step.load.ways: step.entry for step in found}
    return row(label, *(at.get(way, NOT_RUN) for way in ways))


def _by_way(found: Iterable[_Step]) -> dict[str, list[tuple[int, float, float | None]]]:
    """By direction: (GPUs, total, expected) of each step that has a total."""
    points = grouped(
        (step.load.ways, (len(step.load.gpus), step.total.value, step.total.expected))
        for step in found
        if step.total is not None and not step.total.best_case and step.total.value is not None
    )
    return {way: sorted(points[way], key=lambda point: point[0]) for way in WAYS if way in points}


def _chart(drawing: Markup, hollow: str, ways: Sequence[str]) -> list[Chart]:
    marks = {"h2d": "● H2D", "d2h": "■ D2H", "both": "▲ both"}
    legend = (*(marks[way] for way in ways), f"hollow, thin: {hollow}")
    return [Chart(drawing, legend=legend)] if drawing else []


def _sharing(found: list[_Step], why: CellGaps) -> list[Block]:
    ways = [way for way in WAYS if any(s.load.ways == way for s in found)]
    rows = []
    for tasks in sorted({s.load.tasks for s in found}):
        label = Entry(f"{plural(tasks, 'task')} a GPU", mark="label")
        rows.append(_row(label, [s for s in found if s.load.tasks == tasks], ways))
    points = {
        way: sorted((s.load.tasks, *s.span) for s in found if s.load.ways == way and s.span is not None) for way in ways
    }
    drawing = curves.tasks({way: each for way, each in points.items() if each})
    chart = _chart(drawing, "1/k of one task's", ways)
    columns, title = [_COLUMNS[way] for way in ways], "Tasks that share every GPU, all GPUs at once"
    return steps(title, _CAPTION_OF_TASKS, columns, rows, [s.cell for s in found], why, chart)


def _step(cell: Cell, load: Load, figures: list[Figure], flows: Flows, why: CellGaps) -> _Step:
    mine = [f for f in figures if f.cell == cell]
    total = total_of(cell, mine)
    if total is None:
        return _Step(cell, load, gap_entry(why.place(cell)))
    rates = _shares(flows)
    words: list[str] = []
    if load.tasks > 1:
        names = ("slowest_task", "mean_task", "fastest_task")
        rates = [f.value for f in mine if f.derived in names and f.value is not None]
        words += [f"each task {span(rates)}"] if rates else []
        fair = [f.value for f in mine if f.derived == "task_over_fair" and f.value is not None]
        words += [f"the slowest has {number(min(fair), '1')} of 1/{load.tasks}"] if fair else []
    elif len(rates) > 1:
        words += fairness_words(rates)
    if load.tasks == 1 and len(load.gpus) > 1:
        words += part_of_alone(total, flows)
    mean = (total.value or 0.0) / (len(load.gpus) * load.tasks)
    known = (min(rates), mean, max(rates)) if rates and not total.best_case else None
    return _Step(cell, load, entry_of(total, mine, words), total, known)


def _shares(flows: Flows) -> list[float]:
    """What each GPU had, of all its flows."""
    found: dict[int, float] = {}
    for flow, entry in flows:
        rate = (entry.get("rate") or {}).get("median")
        if isinstance(rate, (int, float)):
            found[flow.gpus[0]] = found.get(flow.gpus[0], 0.0) + rate
    return list(found.values())


def exchange_tables(
    figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None
) -> list[Block]:
    """The tables; none where no cell is an exchange between three GPUs or more."""
    asked = [f.cell for f in figures if f.cell is not None]
    known = {cell: found for cell in dict.fromkeys([*asked, *why.by_cell]) if (found := exchange_of(cell)) is not None}
    flows = flows_by_cell(document)
    entries = {cell: _exchange_entry(cell, figures, flows.get(cell, []), why) for cell in known}
    of_hubs = {cell: each for cell, each in known.items() if each.hub is not None}
    of_pairs = {cell: each for cell, each in known.items() if each.pairs}
    hubs = []
    for hub in sorted({each.hub for each in of_hubs.values() if each.hub is not None}):
        mine = {each.pattern: cell for cell, each in of_hubs.items() if each.hub == hub}
        others = dict.fromkeys(gpu for flow in next(iter(mine.values())).flows for gpu in flow.gpus if gpu != hub)
        label = Entry(f"GPU {hub}", (" ".join(f"g{gpu}" for gpu in others),), "label")
        hubs.append(row(label, *(entries[mine[way]] if way in mine else NOT_RUN for way in (ONE_TO_ALL, ALL_TO_ONE))))
    columns, pairs = ("To all, each reads", "From all, each writes"), _pairs(of_pairs, entries, node)
    return [
        *steps("One GPU with all other GPUs", _CAPTION_OF_FLOWS, columns, hubs, list(of_hubs), why),
        *steps("Disjoint pairs at once", _CAPTION_OF_FLOWS, ("All at once",), pairs, list(of_pairs), why),
    ]


def _pairs(known: Mapping[Cell, Exchange], entries: Mapping[Cell, Entry], node: Node | None) -> list[Row]:
    """A row for each set of pairs and direction; the halves of the node say that they are."""
    halves = {_unordered(e.pairs) for cell in bisection(node) if (e := exchange_of(cell))} if node else set()
    rows = []
    for cell, exchange in known.items():
        one_way = exchange.pattern == ONE_WAY
        half = "Half to half" if one_way else "Half with half"
        label = half if _unordered(exchange.pairs) in halves else "Round"
        pairs = " ".join(f"g{a}{'→' if one_way else '↔'}g{b}" for a, b in exchange.pairs)
        rows.append(row(Entry(label, (pairs,), "label"), entries[cell]))
    return rows


def _unordered(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in pairs))


def _exchange_entry(cell: Cell, figures: list[Figure], flows: Flows, why: CellGaps) -> Entry:
    mine = [f for f in figures if f.cell == cell]
    total = total_of(cell, mine)
    if total is None:
        return gap_entry(why.place(cell))
    shares = [f.value for f in mine if f.flow is not None and f.value is not None]
    words = [class_words(total.path_class), *fairness_words(shares), *part_of_alone(total, flows)]
    # How one to all divides has no reference, and is no reason to call the judged total unjudged.
    return entry_of(total, mine, words)


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
    below = [] if total.best_case else [*said]
    if total.share is not None:
        origin = f", {total.reference.origin}" if total.reference and not total.published_beside else ""
        below.append(f"{total.against}{origin}")
    elif total.best_case:
        below.append(total.bound_words)
    return figure_entry(total, shown_together(total, others), below)


def steps(title: str, caption: str, columns: Sequence[str], rows: Sequence[Row], asked: Sequence[Cell], why: CellGaps,
          chart: Sequence[Chart] = ()) -> list[Block]:  # fmt: skip
    """A table of cells with its chart; a sentence where every one of them was skipped, nothing without rows."""
    if not rows:
        return []
    gaps = [why.place(cell) for cell in asked]
    if gaps and all(gap.state == SKIPPED for gap in gaps):
        reason = f"– No figure here: every cell was skipped. {gaps[0].reason}"
        return [Group(title, (Text((reason,), "small nothing"),))]
    listed = table(["", *columns], rows, caption=f"GB/s, {caption}", kind="heat steps")
    return [Group(title, (listed, *chart), folded=True if len(rows) > _OPEN else None, kind="ramp-figure")]
