"""What does a task get when several share each GPU: one to four tasks on every GPU, all GPUs at once."""

from __future__ import annotations

from nearfar import cells
from nearfar.measurement import RATIO, Document, Metric, metrics
from nearfar.topology import Node

from .question import ACCEPT, Question


def figures(document: Document, node: Node) -> list[Metric]:
    """Totals, and each GPU's slowest task beside its fair share, 1/k; each GPU's rate is its tasks' sum."""
    return [m for m in metrics(document, node) if m.flow is None or m.quantity == RATIO]


QUESTION = Question(
    name="sharing_check",
    title="Tasks sharing GPUs",
    key="fair share",
    description="bandwidth of tasks that share GPUs",
    program="nearfar-copy",
    cells=cells.sharing_ramps,
    levels=(ACCEPT,),
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    figures=figures,
    explains=20,
)
