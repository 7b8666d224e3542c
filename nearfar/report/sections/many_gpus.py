"""Many GPUs at once, and tasks that share them: a table of steps and a curve for each ramp.

A step's total and verdict come from the figures; what each GPU and each task had, and what the flows carry alone, from
the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from nearfar import cells
from nearfar.cells import WAYS, Cell, Load, load_of
from nearfar.report.charts import FIGURE, CellGaps, Place, curves
from nearfar.report.figures import Figure, number, parsed, plural, shown_together, span
from nearfar.topology import Node

_TITLES = {
    "spread": ("One GPU more at a time", "One GPU more at a time, spread over packages"),
    "packed": ("The GPUs of one package",) * 2,
    "across": ("Across the package link",) * 2,
}
_CAPTION = "the total of all GPUs; what each GPU has; the total beside what the flows carry alone, added up"
_CAPTION_OF_TASKS = "the total of all GPUs; what each task has; the slowest beside its fair share"
_COLUMNS = {"h2d": "Host to device", "d2h": "Device to host", "both": "Both at once"}


@dataclass(frozen=True)
class StepCell:
    """A cell of a table: what stands in its place, and what the document adds in words.

    ``mark`` is the worst verdict of its figures. ``repeated``: it stands in another table already.
    """

    place: Place
    words: tuple[str, ...]
    mark: str
    repeated: bool

    @property
    def total(self) -> float | None:
        """GB/s of all flows together; None of an upper bound."""
        figure = self.place.figure
        return figure.value if figure and not figure.best_case else None

    @property
    def expected(self) -> float | None:
        """What the total's reference says."""
        return self.place.figure.expected if self.place.figure else None


@dataclass(frozen=True)
class LoadStep(StepCell):
    """A cell of a ramp. ``low``, ``mean`` and ``high`` are GB/s of a GPU, or of a task where tasks share GPUs."""

    load: Load
    low: float | None
    mean: float | None
    high: float | None


@dataclass(frozen=True)
class RampRow:
    """The steps of the same GPUs (or as many tasks), one for each column."""

    label: str
    note: str
    steps: tuple[StepCell | None, ...]


@dataclass(frozen=True)
class Ramp:
    """A table and, where there are enough steps, its curve. ``caption`` says what its figures are."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[RampRow, ...]
    curve: Markup
    nothing: str | None = None
    tasks: bool = False

    @property
    def anchors(self) -> list[str]:
        """The anchors that its places have."""
        steps = [step for row in self.rows for step in row.steps if step is not None and not step.repeated]
        return [s.place.figure.anchor if s.place.figure else s.place.anchor for s in steps] if not self.nothing else []


def ramps(figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None) -> list[Ramp]:
    """The ramps of a check; none where no cell is of several GPUs or tasks."""
    if node is None:
        return []
    asked = [f.cell for f in figures if f.cell is not None] + [*why.failed, *why.skipped, *why.missing]
    loads = {cell: load for cell in dict.fromkeys(asked) if (load := load_of(node, cell)) is not None}
    if not any(len(load.gpus) > 1 or load.tasks > 1 for load in loads.values()):
        return []
    results = {cell: r for r in document.get("results", []) if (cell := parsed(r.get("cell"))) is not None}
    steps = {cell: _step(cell, load, figures, results.get(cell), why) for cell, load in loads.items()}
    if any(load.tasks > 1 for load in loads.values()):
        return [_sharing(list(steps.values()))]
    several = len({gpu.package for gpu in node.gpus}) > 1
    made = (_saturation(name, list(steps.values()), node, several) for name in _TITLES)
    return [ramp for ramp in made if ramp is not None]


def _saturation(name: str, steps: list[LoadStep], node: Node, several: bool) -> Ramp | None:
    mine = [step for step in steps if step.load.ramp == name]
    if not mine:
        return None
    if name == "packed":
        # One GPU alone is the first step of this ramp too.
        alone = (mine[0].load.gpus[0],)
        first_steps = [s for s in steps if s.load.ramp == "spread" and s.load.gpus == alone]
        mine = [replace(step, repeated=True) for step in first_steps] + mine

    def order(gpus: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        first = node.gpu(gpus[0])
        package = first.package if name == "packed" and first is not None else None
        return package or 0, len(gpus), gpus

    rows = []
    for gpus in sorted({step.load.gpus for step in mine}, key=order):
        at = {step.load.ways: step for step in mine if step.load.gpus == gpus}
        note = " ".join(f"g{gpu}" for gpu in gpus)
        rows.append(RampRow(plural(len(gpus), "GPU"), note, tuple(at.get(way) for way in WAYS)))
    least = min(order(step.load.gpus)[0] for step in mine)
    growing = [step for step in mine if order(step.load.gpus)[0] == least] if name != "across" else []
    curve = curves.totals(_by_way(growing))
    return Ramp(_TITLES[name][several], _CAPTION, tuple(_COLUMNS.values()), tuple(rows), curve, nothing(mine))


def _by_way(steps: Iterable[LoadStep]) -> dict[str, list[tuple[int, float, float | None]]]:
    """By direction: (GPUs, total, expected) of each step that has a total."""
    found: dict[str, list[tuple[int, float, float | None]]] = {}
    for step in steps:
        if step.total is not None:
            found.setdefault(step.load.ways, []).append((len(step.load.gpus), step.total, step.expected))
    return {way: sorted(found[way], key=lambda point: point[0]) for way in WAYS if way in found}


def _sharing(steps: list[LoadStep]) -> Ramp:
    ways = [way for way in WAYS if any(s.load.ways == way for s in steps)]
    rows = []
    for tasks in sorted({s.load.tasks for s in steps}):
        at = {s.load.ways: s for s in steps if s.load.tasks == tasks}
        rows.append(RampRow(f"{plural(tasks, 'task')} a GPU", "", tuple(at.get(way) for way in ways)))
    points = {
        way: sorted(
            (s.load.tasks, s.low, s.mean, s.high)
            for s in steps
            if s.load.ways == way and s.low is not None and s.mean is not None and s.high is not None
        )
        for way in ways
    }
    title = "Tasks that share every GPU, all GPUs at once"
    columns = tuple(_COLUMNS[way] for way in ways)
    curve = curves.tasks({k: v for k, v in points.items() if v})
    return Ramp(title, _CAPTION_OF_TASKS, columns, tuple(rows), curve, nothing(steps), True)


def nothing(steps: Sequence[StepCell]) -> str | None:
    """The first reason, where every step was skipped."""
    return steps[0].place.reason if all(s.place.state == "skipped" for s in steps) else None


def _step(cell: Cell, load: Load, figures: list[Figure], result: Mapping[str, Any] | None, why: CellGaps) -> LoadStep:
    mine = [f for f in figures if f.cell == cell]
    total = next((f for f in mine if f.flow is None and not f.is_ratio), None)
    if total is None:
        return LoadStep(why.place(cell), (), "", False, load, None, None, None)
    place = Place(FIGURE, total, tuple(("", f) for f in mine if f.flow is not None), total.reason or "")
    flows = flows_of(result)
    shares, alone = _shares(flows), alone_together(flows)
    if total.best_case:
        return LoadStep(place, (), shown_together(total, mine), False, load, None, None, None)
    words = []
    rates: Iterable[float] = shares.values()
    if load.tasks > 1:
        each = [
            f.value for f in mine if f.derived in ("slowest_task", "mean_task", "fastest_task") and f.value is not None
        ]
        rates = each
        words += [f"each task {span(each)}"] if each else []
        fair = [f.value for f in mine if f.derived == "task_over_fair" and f.value is not None]
        words += [f"the slowest has {number(min(fair), '1')} of 1/{load.tasks}"] if fair else []
    elif len(shares) > 1:
        fairness = min(shares.values()) / max(shares.values()) if max(shares.values()) else 0.0
        words.append(f"each {span(shares.values())}, fairness {number(fairness, '1')}")
    if alone and total.value and load.tasks == 1 and len(load.gpus) > 1:
        words.append(f"{total.value / alone * 100:.0f} % of {number(alone)} alone")
    known = sorted(rates)
    mean = (total.value or 0.0) / (len(load.gpus) * load.tasks)
    low, high = (known[0], known[-1]) if known else (None, None)
    return LoadStep(place, tuple(words), shown_together(total, mine), False, load, low, mean if known else None, high)


Flows = list[tuple[cells.Flow, Mapping[str, Any]]]


def flows_of(result: Mapping[str, Any] | None) -> Flows:
    """The flows of a document's result with their entries."""
    entries = (result or {}).get("flows") or []
    return [(flow.flows[0], entry) for entry in entries if (flow := parsed(entry.get("flow")))]


def _shares(flows: Flows) -> dict[int, float]:
    """What each GPU had, of all its flows."""
    found: dict[int, float] = {}
    for flow, entry in flows:
        rate = (entry.get("rate") or {}).get("median")
        if isinstance(rate, (int, float)):
            found[flow.gpus[0]] = found.get(flow.gpus[0], 0.0) + rate
    return found


def alone_together(flows: Flows) -> float | None:
    """What the flows carry one after the other, added up; None where that is not known of each."""
    solo = [(entry.get("solo") or {}).get("median") for _, entry in flows]
    known = [value for value in solo if isinstance(value, (int, float))]
    return sum(known) if known and len(known) == len(solo) else None
