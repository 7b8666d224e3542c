"""What figures should be on a healthy node: another run (of the machine that is diagnosed, or of others of its type), else siblings in the
same run, else the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev

from nearfar.base import grouped, statistics
from nearfar.cells import Cell, Flow, flow_class
from nearfar.measurement import Document
from nearfar.model.calibration import MeasuredCell, measured_cells
from nearfar.model.prediction import NodeType, predict

from . import thresholds


@dataclass(frozen=True)
class HealthyRuns:
    """The cells of healthy runs: of the ``own`` machine, and of each of the ``others``."""

    own: tuple[MeasuredCell, ...] = ()
    others: tuple[tuple[MeasuredCell, ...], ...] = ()

    @property
    def cells(self) -> list[MeasuredCell]:
        """All of them."""
        return [*self.own, *(cell for machine in self.others for cell in machine)]


def healthy_runs(document: Document, healthy: Sequence[Document]) -> HealthyRuns:
    """The cells of ``healthy`` by machine. The own one has the document's host name and its GPUs' UUIDs; a document that says no
    UUID (STREAM needs none) is of the machine that alone among them has its host name. What is not known is another's."""
    machines: list[list[Document]] = []
    for run in sorted(healthy, key=lambda run: not _boards(run)):
        alike = [machine for machine in machines if _same(machine[0], run)]
        if len(alike) == 1:
            alike[0].append(run)
        else:
            machines.append([run])
    own = [machine for machine in machines if _is(document, machine[0])]
    others = [machine for machine in machines if machine not in own]
    return HealthyRuns(
        tuple(cell for machine in own for run in machine for cell in measured_cells(run)),
        tuple(tuple(cell for run in machine for cell in measured_cells(run)) for machine in others),
    )


def _is(document: Document, other: Document) -> bool:
    """Whether another document is surely of the same machine."""
    known = bool(_boards(document) and _boards(other)) or not document.node.gpus or document.kind == "modelled"
    return known and _same(document, other)


def _same(document: Document, other: Document) -> bool:
    """Whether nothing says that two documents are of two machines: host name, the boards that both know."""
    boards, other_boards = _boards(document), _boards(other)
    shared = boards.keys() & other_boards.keys()
    return (
        document.node.hostname == other.node.hostname
        and all(boards[index] == other_boards[index] for index in shared)
        and bool(shared or not boards or not other_boards)
    )


def _boards(document: Document) -> dict[int, str]:
    """The UUIDs that are known, by GPU."""
    return {gpu.index: gpu.uuid for gpu in document.node.gpus if gpu.uuid}


#: An interval of 95 % is this many standard deviations wide.
_WIDTH = 3.92


@dataclass(frozen=True)
class Healthy:
    """A cell's healthy rates in GB/s, the standard deviations of their logarithms, the total's, and where they are from:
    ``run`` (of the same machine), ``machines`` (others), ``tuned``, ``siblings`` or ``prediction``."""

    rates: tuple[float, ...]
    sigmas: tuple[float, ...]
    total_sigma: float
    origin: str


def spread(value: float, interval: tuple[float, float]) -> float:
    """The standard deviation of a figure's logarithm, by its interval and from run to run."""
    return max(thresholds.RUN_TO_RUN, (interval[1] - interval[0]) / _WIDTH / value)


def from_runs(runs: HealthyRuns) -> dict[Cell, Healthy]:
    """The figures of healthy runs: of the machine itself, else of others. A cell that occurs several times has the median of them.

    Runs of one machine vary as much as they do, and at least by ``RUN_TO_RUN``; machines by ``MACHINE_TO_MACHINE``.
    """
    elsewhere = grouped((cell, _middle(same)) for machine in runs.others for cell, same in _by_cell(machine).items())
    healthy = {}
    for cell, machines in elsewhere.items():
        floor = thresholds.MACHINE_TO_MACHINE[min(len(machines), len(thresholds.MACHINE_TO_MACHINE)) - 1]
        healthy[cell] = _of_runs(cell, machines, "machines", floor)
    own = {cell: _of_runs(cell, same, "run", thresholds.RUN_TO_RUN) for cell, same in _by_cell(runs.own).items()}
    return {**healthy, **own}


def _by_cell(cells: Sequence[MeasuredCell]) -> dict[Cell, list[MeasuredCell]]:
    return grouped((cell.cell, cell) for cell in cells)


def _middle(runs: Sequence[MeasuredCell]) -> MeasuredCell:
    """A machine's run with the middle total, so that it counts once however often it was measured."""
    return sorted(runs, key=lambda run: run.total)[len(runs) // 2]


def _of_runs(cell: Cell, runs: Sequence[MeasuredCell], origin: str, floor: float) -> Healthy:
    rates: list[float] = []
    deviations: list[float] = []
    for flow in cell.flows:
        places = [run.cell.flows.index(flow) for run in runs]
        values = [run.rates[place] for run, place in zip(runs, places)]
        own = [spread(run.rates[place], run.intervals[place]) for run, place in zip(runs, places)]
        rates.append(statistics.median(values))
        deviations.append(max(floor, _between(values, own)))
    total = _between([run.total for run in runs], [spread(run.total, run.interval) for run in runs])
    return Healthy(tuple(rates), tuple(deviations), max(floor, total), origin)


def _between(values: Sequence[float], own: Sequence[float]) -> float:
    """The standard deviation of a figure's logarithm: of each run's own, and between runs."""
    logs = [math.log(value) for value in values]
    return max(statistics.median(own), stdev(logs) if len(logs) > 1 else 0.0)


def from_reference(rates: Sequence[float], slacks: Sequence[float], total_slack: float) -> Healthy:
    """What a site's references say a cell's flows should have. A slack is how far below is still good, as a part, and holds what
    differs from run to run: what is judged slow is bad."""

    def deviation(slack: float) -> float:
        return math.sqrt(max(0.0, (slack / thresholds.BAD_SIGMAS) ** 2 - thresholds.RUN_TO_RUN**2))

    return Healthy(tuple(rates), tuple(map(deviation, slacks)), deviation(total_slack), "tuned")


def from_itself(cells: Sequence[MeasuredCell], node_type: NodeType) -> dict[Cell, Healthy]:
    """By siblings in the same run; for cells without, as the node type predicts."""
    return {**from_prediction(cells, node_type), **from_siblings(cells, node_type)}


def from_siblings(cells: Sequence[MeasuredCell], node_type: NodeType) -> dict[Cell, Healthy]:
    """The median of the same figure of all alike GPUs and NUMA nodes, of at least three cells.

    Flows of one cell are no witnesses for each other: where one is slow, those that share what is full have its part.

    Where the node type predicts all of them, siblings that it expects to differ are compared by what they have of
    their prediction. A part that slows all siblings alike cannot be seen so.
    """
    predicted = {cell: expected.rates for cell, expected in from_prediction(cells, node_type).items()}
    groups: dict[object, list[tuple[float, float | None]]] = {}
    witnesses: dict[object, set[Cell]] = {}
    for cell in cells:
        beside = predicted.get(cell.cell, (None,) * len(cell.rates))
        for flow, rate, expected in zip(cell.cell.flows, cell.rates, beside):
            kind = _kind(node_type, cell.cell, flow)
            groups.setdefault(kind, []).append((rate, expected))
            witnesses.setdefault(kind, set()).add(cell.cell)
    healthy = {}
    for cell in cells:
        kinds = [_kind(node_type, cell.cell, flow) for flow in cell.cell.flows]
        if all(len(witnesses[kind]) >= thresholds.LEAST_SIBLINGS for kind in kinds):
            alike = [groups[kind] for kind in kinds]
            beside = predicted.get(cell.cell, (None,) * len(cell.rates))
            both = [_of_siblings(group, expected) for group, expected in zip(alike, beside)]
            deviations = tuple(sigma for _, sigma in both)
            healthy[cell.cell] = Healthy(tuple(rate for rate, _ in both), deviations, max(deviations), "siblings")
    return healthy


def from_prediction(cells: Sequence[MeasuredCell], node_type: NodeType) -> dict[Cell, Healthy]:
    """What the node type's own capacities predict; cells that depend on unknown ones are left out."""
    if not any(capacity.value for capacity in (*node_type.capacities.values(), *node_type.caps.values())):
        return {}  # a measured node's own: nothing is known, and of many GPUs that takes long to find out
    healthy = {}
    for cell in cells:
        prediction = predict(cell.cell, node_type)
        rates = [rate for rate in prediction.flows.values() if rate is not None]
        if not prediction.unknown and len(rates) == len(cell.rates):
            healthy[cell.cell] = Healthy(
                tuple(rates), (thresholds.MISFIT,) * len(rates), thresholds.MISFIT, "prediction"
            )
    return healthy


def sigmas(cell: MeasuredCell, healthy: Healthy) -> list[float]:
    """The standard deviations of the cell's figures (the total's first, where there are several flows)."""
    flows = [
        math.hypot(spread(rate, interval), sigma)
        for rate, interval, sigma in zip(cell.rates, cell.intervals, healthy.sigmas)
    ]
    return flows if cell.cell.lone else [math.hypot(spread(cell.total, cell.interval), healthy.total_sigma), *flows]


def as_measured(healthy: Mapping[Cell, Healthy]) -> list[MeasuredCell]:
    """Healthy figures as if measured, to calibrate from."""
    cells = []
    for cell, expected in healthy.items():
        intervals = tuple((r * (1 - 2 * s), r * (1 + 2 * s)) for r, s in zip(expected.rates, expected.sigmas))
        total = sum(expected.rates)
        around = total * (1 - 2 * expected.total_sigma), total * (1 + 2 * expected.total_sigma)
        cells.append(MeasuredCell(cell, expected.rates, intervals, total, around))
    return cells


def _of_siblings(group: Sequence[tuple[float, float | None]], expected: float | None) -> tuple[float, float]:
    """A figure by its siblings (their rates, each with its prediction): the rate, and its logarithm's deviation."""
    scaled = [rate / own for rate, own in group if own]
    values = scaled if expected and len(scaled) == len(group) else [rate for rate, _ in group]
    middle = statistics.median(values)
    deviation = max(thresholds.RUN_TO_RUN, statistics.spread(values) / middle)
    return middle * expected if expected and values is scaled else middle, deviation


def _kind(node_type: NodeType, cell: Cell, flow: Flow) -> object:
    """What siblings have in common: the flow's path, options and hardware, and those of all flows beside it."""

    def path(flow: Flow) -> tuple[object, ...]:
        gpus = [node_type.node.gpu(index) for index in flow.gpus]
        hardware = tuple((gpu.name, gpu.link.max_gen, gpu.link.max_width) for gpu in gpus if gpu is not None)
        path_class = flow_class(node_type.node, flow)
        return flow.kind, flow.direction, flow.options, path_class, flow.driver is None, str(hardware)

    beside = sorted(map(str, map(path, cell.flows)))
    shape = len({flow.numa_node for flow in cell.flows}), len(cell.gpus)
    return path(flow), tuple(beside), shape
