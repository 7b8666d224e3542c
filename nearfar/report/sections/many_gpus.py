"""Many GPUs at once, and tasks that share them: a table of steps and a curve for each ramp.

A step's total and verdict come from the figures; what each GPU and each task had, and what the flows carry alone, from
the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from nearfar.cells import WAYS, Cell, Load, load_of
from nearfar.report.blocks import Block, Chart, Entry, row
from nearfar.report.charts import CellGaps, curves
from nearfar.report.figures import Figure, number, plural, span
from nearfar.topology import Node

from .steps import NOT_RUN, Flows, entry_of, fairness_words, flows_by_cell, gap_entry, part_of_alone, steps, total_of

_TITLES = {
    "spread": ("One GPU more at a time", "One GPU more at a time, spread over packages"),
    "packed": ("The GPUs of one package",) * 2,
    "across": ("Across the package link",) * 2,
}
_CAPTION = "the total of all GPUs; what each GPU has; the total beside what the flows carry alone, added up"
_CAPTION_OF_TASKS = "the total of all GPUs; what each task has; the slowest beside its fair share"
_COLUMNS = {"h2d": "Host to device", "d2h": "Device to host", "both": "Both at once"}


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
    asked = [f.cell for f in figures if f.cell is not None] + [*why.failed, *why.skipped, *why.missing]
    loads = {cell: load for cell in dict.fromkeys(asked) if (load := load_of(node, cell)) is not None}
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
        at = {step.load.ways: step.entry for step in mine if step.load.gpus == gpus}
        label = Entry(plural(len(gpus), "GPU"), (" ".join(f"g{gpu}" for gpu in gpus),), "label")
        rows.append(row(label, *(at.get(way, NOT_RUN) for way in WAYS)))
    least = min(order(step.load.gpus)[0] for step in mine)
    growing = [step for step in mine if order(step.load.gpus)[0] == least and name != "across"]
    chart = _chart(curves.totals(_by_way(growing)), "the reference", WAYS)
    asked = [step.cell for step in mine]
    return steps(_TITLES[name][several], _CAPTION, list(_COLUMNS.values()), rows, asked, why, chart)


def _by_way(found: Iterable[_Step]) -> dict[str, list[tuple[int, float, float | None]]]:
    """By direction: (GPUs, total, expected) of each step that has a total."""
    points: dict[str, list[tuple[int, float, float | None]]] = {}
    for step in found:
        if step.total is not None and not step.total.best_case and step.total.value is not None:
            points.setdefault(step.load.ways, []).append((len(step.load.gpus), step.total.value, step.total.expected))
    return {way: sorted(points[way], key=lambda point: point[0]) for way in WAYS if way in points}


def _chart(drawing: Markup, hollow: str, ways: Sequence[str]) -> list[Chart]:
    marks = {"h2d": "● H2D", "d2h": "■ D2H", "both": "▲ both"}
    legend = (*(marks[way] for way in ways), f"hollow, thin: {hollow}")
    return [Chart(drawing, legend=legend)] if drawing else []


def _sharing(found: list[_Step], why: CellGaps) -> list[Block]:
    ways = [way for way in WAYS if any(s.load.ways == way for s in found)]
    rows = []
    for tasks in sorted({s.load.tasks for s in found}):
        at = {s.load.ways: s.entry for s in found if s.load.tasks == tasks}
        label = Entry(f"{plural(tasks, 'task')} a GPU", mark="label")
        rows.append(row(label, *(at.get(way, NOT_RUN) for way in ways)))
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
