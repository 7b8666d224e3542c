"""Is every path as fast as it should be, in a few seconds: each one way, pairs of GPUs side by side."""

from __future__ import annotations

from nearfar import cells
from nearfar.measurement import AnyMetric, Metric

from .question import QUICK, Question


def judged_as(metric: AnyMetric) -> str:
    """The same paths are measured at length by the checks whose references these are."""
    peer = isinstance(metric, Metric) and metric.cell.flows[0].kind == "peer"
    return "peer_check" if peer else "host_device_check"


QUESTION = Question(
    name="quick_check",
    title="Every path once",
    description="every path once, in seconds",
    program="nearfar-copy",
    cells=cells.single_paths,
    levels=(QUICK,),
    systems=("+gpu",),
    options=("--quick",),
    counts_gpus=True,
    nothing_to_ask="no GPU on this node",
    judged_as=judged_as,
    explains=10,
)
