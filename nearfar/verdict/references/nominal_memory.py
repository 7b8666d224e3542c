"""What a GPU's memory is at most, and that a kernel far below it shows a broken one."""

from __future__ import annotations

from nearfar.measurement import Metric
from nearfar.model import link_limits

from .model_ranges import MEMORY, ModelRanges
from .reference import Reference


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
