"""Derived figures: far over near, staged over direct, fairness, the shares of tasks, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.cells import Cell, Flow, exchange_of, join_class, metric_name, parse

from .document import Result
from .metric import OF_ANOTHER_TOOL, RATIO, RATIO_UNIT, SIZE, SIZE_UNIT, TAIL, TASK, Metric


def far_over_near(figures: Sequence[Metric]) -> list[Metric]:
    """``off_socket_over_near`` and ``on_socket_over_near`` for each GPU, direction and load."""
    near: dict[object, Metric] = {}
    for figure in figures:
        key = _load_key(figure)
        # A near cell driven from its own NUMA node stands before one that is driven from elsewhere.
        own = all(flow.driver is None for flow in figure.cell.flows)
        if key is not None and figure.class_in_name == "near" and (own or key not in near):
            near[key] = figure
    ratios = []
    for far in figures:
        beside = near.get(_load_key(far)) if far.class_in_name in ("off_socket", "on_socket") else None
        if beside is not None and beside.value > 0:
            ratios.append(_over(far, beside, "over_near"))
    return ratios


def _load_key(figure: Metric) -> object:
    """What a far figure and the near one beside it have in common: GPU, directions, options; not NUMA node and driver.

    ``None`` for figures of several GPUs or NUMA nodes, and of other than host flows.
    """
    flows = figure.cell.flows
    if {flow.kind for flow in flows} != {"host"} or len({(flow.gpus, flow.numa_node) for flow in flows}) != 1:
        return None

    def load(flow: Flow) -> tuple[str, tuple[str, ...]]:
        return flow.direction, flow.options

    which = "total" if figure.total else load(figure.flow) if figure.flow else "lone"
    return flows[0].gpus, tuple(sorted(map(load, flows))), which, figure.unit


def staged_over_direct(figures: Sequence[Metric]) -> list[Metric]:
    """What a pair of GPUs carries through host memory over what it carries directly (written by a copy engine)."""
    lone = {figure.cell.flows[0]: figure for figure in figures if figure.cell.lone and figure.quantity == "copy"}
    ratios = []
    for flow, staged in lone.items():
        direct = lone.get(replace(flow, staged=False)) if flow.staged else None
        if direct is not None and direct.value > 0:
            ratios.append(_over(staged, direct, "staged_over_direct"))
    return ratios


def over_alone(results: Iterable[Result], figures: Sequence[Metric]) -> list[Metric]:
    """What copies, and what computes or streams beside them, keep of what each does alone, in the medians of the same run."""
    alone = {
        (result.cell, flow.flow): flow.solo.median
        for result in results
        if result.cell is not None and result.cell.copies_beside_kernels
        for flow in result.flows
        if flow.solo is not None and flow.solo.median > 0
    }
    found = []
    for figure in figures:
        beside = alone.get((figure.cell, figure.flow)) if figure.flow is not None else None
        if beside is not None and figure.quantity == "copy":
            found.append(_derived(figure, "over_alone", (figure.median or figure.value) / beside, RATIO, figure.flow))
    return found


def fairness(figures: Sequence[Metric]) -> list[Metric]:
    """The least share over the greatest: 1 where all have the same.

    A share is what a GPU has of a cell that feeds several GPUs from host memory (or drains them), of both directions
    their sum; in an exchange between three GPUs or more it is a flow.
    """
    found = []
    for cell, flows in _by_cell(figures).items():
        shares: dict[object, float] = {}
        from_host = all(flow.kind == "host" and flow.tasks == 1 for flow in cell.flows)
        if not from_host and exchange_of(cell) is None:
            continue
        for metric in flows:
            assert metric.flow is not None
            share = metric.flow.gpus[0] if from_host else metric.flow
            shares[share] = shares.get(share, 0.0) + metric.value
        if len(shares) > 1 and max(shares.values()) > 0:
            found.append(_derived(flows[0], "fairness", min(shares.values()) / max(shares.values()), RATIO))
    return found


def of_tasks(results: Iterable[Result], figures: Sequence[Metric]) -> list[Metric]:
    """Of each cell whose flows are shared by K tasks: the slowest, mean and fastest task of all its GPUs in GB/s, and
    for each flow its slowest task over a fair share, which is 1/K of what the flow carries with one task a GPU (in
    this cell itself where that was not measured)."""
    by_cell = _by_cell(figures, lone=True)
    found: list[Metric] = []
    for result in results:
        cell = result.cell
        shared = {flow.flow: flow for flow in result.flows if flow.tasks is not None and flow.tasks.least is not None}
        if cell is None or cell not in by_cell or not shared or len(shared) < len(cell.flows):
            continue
        beside = {m.flow or m.cell.flows[0]: m for m in by_cell.get(cell.with_one_task(), [])}
        first = by_cell[cell][0]
        slowest = {
            flow: each.tasks.least for flow, each in shared.items() if each.tasks and each.tasks.least is not None
        }
        most = [each.tasks.most or each.tasks.median for each in shared.values() if each.tasks]
        mean = sum(each.rate.median for each in shared.values()) / sum(flow.tasks for flow in shared)
        for what, value in (("slowest_task", min(slowest.values())), ("mean_task", mean), ("fastest_task", max(most))):
            found.append(_derived(first, what, value, TASK))
        for flow, least in slowest.items():
            one = beside.get(flow.alone())
            fair = (shared[flow].rate.median if one is None else one.median or one.value) / flow.tasks
            if fair > 0:
                made = _derived(first, "task_over_fair", least / fair, RATIO, None if cell.lone else flow)
                found.append(made if one is None else replace(made, basis=_weaker(first.basis, one.basis)))
    return found


def half_bandwidth(curves: Iterable[Mapping[str, Any]], figures: Sequence[Metric]) -> list[Metric]:
    """The size in bytes at which each flow that was measured over sizes has half of its largest rate."""
    lone = {figure.cell: figure for figure in figures if figure.cell.lone and figure.quantity == "copy"}
    found = []
    for curve in curves:
        figure = lone.get(parse(str(curve["cell"])))
        if figure is not None:
            found.append(_derived(figure, "half_bandwidth", float(curve["half_bandwidth_bytes"]), SIZE))
    return found


def tails(results: Iterable[Result], figures: Sequence[Metric]) -> list[Metric]:
    """Of each path whose transfers were timed one by one: the 99th percentile in microseconds, and the worst over the median."""
    medians = {figure.cell: figure for figure in figures if figure.quantity == TAIL}
    found = []
    for result in results:
        if result.tail is not None and result.cell in medians:
            figure = medians[result.cell]
            found.append(_derived(figure, "tail_p99", result.tail.p99, TAIL))
            found.append(_derived(figure, "tail_worst", result.tail.worst_over_p50, RATIO))
    return found


def _by_cell(figures: Iterable[Metric], lone: bool = False) -> dict[Cell, list[Metric]]:
    """The flows' own rates of each cell of several flows (``lone``: of a single one too)."""
    found: dict[Cell, list[Metric]] = {}
    for figure in figures:
        if figure.quantity == "copy" and (figure.flow is not None or (lone and figure.cell.lone)):
            found.setdefault(figure.cell, []).append(figure)
    return found


def _over(figure: Metric, beside: Metric, what: str) -> Metric:
    """One figure over another; the interval is the quotient of the two."""
    interval = quotient(figure.interval, beside.interval)
    made = _derived(figure, what, figure.value / beside.value, RATIO, figure.flow, figure.total)
    verified = _both(figure.verified, beside.verified)
    converged = figure.converged and beside.converged
    return replace(
        made, interval=interval, converged=converged, verified=verified, basis=_weaker(figure.basis, beside.basis)
    )


def quotient(above: tuple[float, float] | None, below: tuple[float, float] | None) -> tuple[float, float] | None:
    """The interval of one figure over another; None where either has none, or the lower one may be nothing."""
    return (above[0] / below[1], above[1] / below[0]) if above and below and below[0] > 0 else None


def _weaker(one: str | None, other: str | None) -> str | None:
    """Of a modelled ratio: ``input`` where both are the model's own, else what is known least well."""
    order = ("input", "assumed", "predicted", "upper bound", "nominal", OF_ANOTHER_TOOL)
    return None if one is None or other is None else max(one, other, key=order.index)


def _derived(
    source: Metric, what: str, value: float, quantity: str, flow: Flow | None = None, total: bool = False
) -> Metric:
    """A figure that is derived from a cell's rates; it keeps what is known of them but their interval, samples and ceiling."""
    return replace(
        source,
        name=metric_name(join_class(source.path_class, what), source.cell, flow, total),
        flow=flow,
        total=total,
        derived=what,
        value=value,
        unit={RATIO: RATIO_UNIT, SIZE: SIZE_UNIT}.get(quantity, source.unit),
        interval=None,
        ceiling=None,
        quantity=quantity,
        least=None,
        most=None,
        samples=(),
        plateau=None,
        median=None,
        steadiness=None,
    )


def _both(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True
