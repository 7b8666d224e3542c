"""The metrics of a document: one figure a name, and the ratios of far to near paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.cells import Cell, Flow, cell_class, metric_name
from nearfar.topology import Node

from .document import CELL_QUANTITIES, Document, Rate, Result

#: The quantity and unit of ``off_socket_over_near`` and ``on_socket_over_near``.
RATIO = "ratio"
RATIO_UNIT = "1"


@dataclass(frozen=True)
class Metric:
    """One figure of a document.

    ``flow`` is the flow of a cell of several that the figure belongs to, ``total`` whether it is their sum; a lone
    cell's figure has neither. ``value``, ``ci`` and ``ceiling`` are in ``unit``. ``path_class`` of a ratio is the
    ratio's name.
    """

    name: str
    cell: Cell
    flow: Flow | None
    total: bool
    path_class: str
    value: float
    unit: str
    ci: tuple[float, float] | None
    converged: bool
    verified: bool | None
    ceiling: float | None
    limited_by: tuple[str, ...]
    quantity: str


def metrics(document: Document, expected: Node | None = None) -> list[Metric]:
    """The document's figures, in its order, then the ratios.

    Path classes are those of ``expected``, the node that the site's file describes; the document's own node stands in
    where there is none. Of a cell measured at several sizes the largest counts. Subjects that are not cells have no
    metric here.
    """
    node = expected or document.node
    found: list[Metric] = []
    for result in _largest(document.results):
        if result.cell is not None:
            found += _of_result(result, result.cell, cell_class(node, result.cell))
    return found + _ratios(found)


def _largest(results: Iterable[Result]) -> list[Result]:
    chosen: dict[object, Result] = {}
    for result in results:
        if result.quantity in CELL_QUANTITIES:
            key = result.quantity, result.cell
            if key not in chosen or (result.bytes or 0) > (chosen[key].bytes or 0):
                chosen[key] = result
    return list(chosen.values())


def _of_result(result: Result, cell: Cell, path_class: str) -> list[Metric]:
    def metric(rate: Rate, flow: Flow | None, ceiling: float | None, total: bool = False) -> Metric:
        return Metric(
            name=metric_name(path_class, cell, flow, total),
            cell=cell,
            flow=flow,
            total=total,
            path_class=path_class,
            value=rate.median,
            unit=rate.unit,
            ci=rate.ci,
            converged=result.converged,
            verified=result.verified,
            ceiling=ceiling,
            limited_by=result.limited_by,
            quantity=result.quantity,
        )

    if cell.lone:
        return [metric(result.flows[0].rate, None, result.flows[0].ceiling)]
    figures = [metric(f.rate, f.flow, f.ceiling) for f in result.flows]
    if result.total is not None:
        ceilings = [f.ceiling for f in result.flows]
        known = [c for c in ceilings if c is not None]
        figures.append(metric(result.total, None, sum(known) if len(known) == len(ceilings) else None, total=True))
    return figures


def _ratios(figures: list[Metric]) -> list[Metric]:
    """``off_socket_over_near`` and ``on_socket_over_near`` for each GPU, direction and load."""
    near: dict[object, Metric] = {}
    for figure in figures:
        key = _load_key(figure)
        # A near cell driven from its own NUMA node stands before one that is driven from elsewhere.
        own = all(flow.driver is None for flow in figure.cell.flows)
        if key is not None and figure.path_class == "near" and (own or key not in near):
            near[key] = figure
    ratios = []
    for far in figures:
        beside = near.get(_load_key(far)) if far.path_class in ("off_socket", "on_socket") else None
        if beside is not None and beside.value > 0:
            ratios.append(_ratio(far, beside))
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


def _ratio(far: Metric, near: Metric) -> Metric:
    ci = None
    if far.ci and near.ci and near.ci[0] > 0:
        ci = (far.ci[0] / near.ci[1], far.ci[1] / near.ci[0])
    path_class = f"{far.path_class}_over_near"
    return Metric(
        name=metric_name(path_class, far.cell, far.flow, far.total),
        cell=far.cell,
        flow=far.flow,
        total=far.total,
        path_class=path_class,
        value=far.value / near.value,
        unit=RATIO_UNIT,
        ci=ci,
        converged=far.converged and near.converged,
        verified=_both(far.verified, near.verified),
        ceiling=None,
        limited_by=far.limited_by,
        quantity=RATIO,
    )


def _both(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True
