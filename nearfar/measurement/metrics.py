"""The metrics of a document: one figure a name."""

from __future__ import annotations

from collections.abc import Iterable

from nearfar.cells import Cell, Flow, cell_class, metric_name
from nearfar.topology import Node

from . import derived
from .document import CELL_QUANTITIES, Document, Rate, Result
from .metric import Metric


def metrics(document: Document, expected: Node | None = None) -> list[Metric]:
    """The document's figures, in its order, then those that are made of them (``nearfar.measurement.derived``).

    Path classes are those of ``expected``, the node that the site's file describes; the document's own node stands in
    where there is none. Of a cell measured at several sizes the largest counts. Subjects that are not cells have no
    metric here.
    """
    node = expected or document.node
    found: list[Metric] = []
    results = _largest(document.results)
    for result in results:
        if result.cell is not None:
            # Of one path there are rates and several times: these have their names behind the class.
            what = "" if result.quantity in ("copy", "stream") else f"_{result.quantity.replace('.', '_')}"
            found += _of_result(result, result.cell, f"{cell_class(node, result.cell)}{what}")
    return [
        *found,
        *derived.far_over_near(found),
        *derived.staged_over_direct(found),
        *derived.fairness(found),
        *derived.of_tasks(results, found),
        *derived.half_bandwidth(document.raw.get("curves") or [], found),
    ]


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
