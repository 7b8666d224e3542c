"""The metrics of a document: one figure a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearfar.cells import Cell, Flow, cell_class, join_class, metric_name
from nearfar.topology import Node, behind_nvswitch

from . import derived
from .document import CELL_QUANTITIES, Conditions, Document, Rate, Result, SampleStatistics, shared
from .metric import TAIL, Metric


def metrics(document: Document, expected: Node | None = None) -> list[Metric]:
    """The document's figures, in its order, then those that are made of them (``nearfar.measurement.derived``).

    Path classes, and what host memory carries at most, are those of ``expected``, the node that the site's file describes; the
    document's own node stands in where there is none. Of a cell measured at several sizes the largest counts. Subjects that are
    not cells have no metric here.
    """
    node = expected or document.node
    found: list[Metric] = []
    results = _largest(document.results)
    for result in results:
        if result.cell is not None:
            # Of one path there are rates and several times: these have their names behind the class. A size that want of memory made
            # smaller is another figure.
            usual = "smaller_size" if result.smaller else ""
            what = usual if result.quantity in ("copy", "stream") else result.quantity.replace(".", "_")
            found += _of_result(result, result.cell, what, node)
    return [
        *(figure for figure in found if figure.quantity != TAIL),
        *derived.tails(results, found),
        *derived.far_over_near(found),
        *derived.staged_over_direct(found),
        *derived.fairness(found),
        *derived.over_alone(results, found),
        *derived.of_tasks(results, found),
        *derived.half_bandwidth(document.raw.get("curves") or [], found),
    ]


def _largest(results: Iterable[Result]) -> list[Result]:
    chosen: dict[object, Result] = {}
    for result in results:
        if result.quantity in CELL_QUANTITIES:
            key = result.quantity, result.cell
            if key not in chosen or _counts_more(result, chosen[key]):
                chosen[key] = result
    return list(chosen.values())


def _counts_more(result: Result, other: Result) -> bool:
    """Of a cell whose rate was measured, and its sizes beside it, the rate counts; of sizes the largest."""
    if (result.aspect == "sizes") != (other.aspect == "sizes"):
        return other.aspect == "sizes"
    return (result.bytes or 0) > (other.bytes or 0)


def _of_result(result: Result, cell: Cell, derived: str, node: Node) -> list[Metric]:
    path_class = cell_class(node, cell)

    def metric(rate: Rate, flow: Flow | None, ceiling: float | None, total: bool = False) -> Metric:
        return Metric(
            **shared(SampleStatistics, rate), **shared(Conditions, result), quantity=result.quantity, cell=cell, flow=flow, total=total,
            name=metric_name(join_class(path_class, derived), cell, flow, total), path_class=path_class, derived=derived,
            value=rate.value, interval=rate.value_interval, ceiling=ceiling,
        )  # fmt: skip

    ceilings = {f.flow: _memory_peak(f.flow, node) if f.flow.kind == "stream" else f.ceiling for f in result.flows}
    if cell.lone:
        return [metric(result.flows[0].rate, None, ceilings[result.flows[0].flow])]
    figures = [metric(f.rate, f.flow, ceilings[f.flow]) for f in result.flows]
    if result.total is not None:
        known = {flow: ceiling for flow, ceiling in ceilings.items() if ceiling is not None}
        ceiling = _together(known, node) if len(known) == len(result.flows) else None
        figures.append(metric(result.total, None, ceiling, total=True))
    return figures


def _memory_peak(flow: Flow, node: Node) -> float | None:
    """What the memory that cores stream through carries at most: programs cannot know it, as only root may read of the DIMMs."""
    numa = node.numa_node(flow.destination.index)
    return None if numa is None else numa.peak


def _together(ceilings: Mapping[Flow, float], node: Node) -> float:
    """What flows can carry together: the sum of what each can; through an NVLink switch all that leave a GPU, or enter it,
    share the lanes that one of them has alone; cores that stream share the memory of a NUMA node."""
    switched = set(behind_nvswitch(node))
    ways = []
    for end in (0, -1):
        lanes: dict[object, float] = {}
        for flow, ceiling in ceilings.items():
            shared = flow.kind == "peer" and not flow.staged and flow.gpus[end] in switched
            key = flow.gpus[end] if shared else flow.destination if flow.kind == "stream" else flow
            lanes[key] = max(lanes.get(key, 0.0), ceiling)
        ways.append(sum(lanes.values()))
    return min(ways)
