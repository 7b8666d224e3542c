"""What a GPU's memory and a collective of NCCL should reach where no reference was tuned: nominal rates, and the prediction's range."""

from __future__ import annotations

from nearfar import nccl
from nearfar.measurement import Metric, SubjectMetric
from nearfar.model import link_limits
from nearfar.model.prediction import NodeType
from nearfar.topology import Node

from .model_ranges import MEMORY, ModelRanges
from .reference import Reference, figure, with_unit

#: Bytes from which on the range bounds a figure; smaller messages are latency, which software changes.
_BOUNDED_FROM = 32 << 20


def from_expectation(metric: SubjectMetric, node: Node, node_type: NodeType | None) -> Reference | None:
    """The prediction: below its range DEGRADED, and FAIL below half of what is typical; None where it does not know the node."""
    if metric.quantity != nccl.BUSBW:
        return None
    case, size = nccl.parse_case(metric.subject), nccl.size_of(metric.question.rpartition(".")[2])
    known = node if node_type is None or len(node_type.node.gpus) != len(node.gpus) else node_type
    healthy = nccl.expected_of(case, size, known)
    if healthy is None:
        return None
    unit, gpu = metric.unit, next(iter(node.gpus), None)
    words = f"{case.ranks} × {(gpu and gpu.name) or 'GPU'} {'with' if healthy.algorithm.startswith('nvls') else 'without'} NVLS"
    span = f"{figure(healthy.low, unit)}–{figure(healthy.high, unit)}"
    note = f"{span} for {words}, {healthy.algorithm}, limited by {healthy.limit}"
    if size < _BOUNDED_FROM:
        return Reference(healthy.typical, None, None, unit, "prediction", note, accepts=False)
    least = f"at least {with_unit(healthy.low, unit)} (prediction: {with_unit(healthy.typical, unit)}, {note})"
    return Reference(healthy.typical, link_limits.BROKEN - 1, None, unit, "prediction", note, healthy.low, least)


def from_nominal_memory(metric: Metric, model: str | None, ranges: ModelRanges) -> Reference | None:
    """The nominal rate of the memory of a GPU ``model``, or what its clock and width say where the model's file says nothing: a kernel
    alone below half of it is broken. It accepts nothing. None for all other figures."""
    flow = metric.cell.flows[0]
    alone = metric.cell.lone and not metric.derived and metric.unit == "GB/s"
    if not alone or flow.kind != "gpu_stream" or flow.source != flow.destination:
        return None
    known = ranges.get(model or "", {}).get(MEMORY, ())
    if known:
        value, words = known[0].high, f"nominal rate of the GPU's memory ({known[0].words})"
    elif metric.ceiling is not None:
        value, words = metric.ceiling, "clock and width of the GPU's memory"
    else:
        return None
    note = f"{words}, below half of it a memory is broken"
    return Reference(value, link_limits.BROKEN - 1, None, metric.unit, "prediction", note, accepts=False)
