"""How much do all GPUs carry at once: 1, 2, ... GPUs, spread over packages, packed on one, and across the package link."""

from __future__ import annotations

from nearfar import cells
from nearfar.measurement import Document, Metric, metrics
from nearfar.topology import Node

from .question import ACCEPT, Question


def figures(document: Document, node: Node) -> list[Metric]:
    """Totals and fairness of every step; each GPU's share where all GPUs of a ramp take part."""
    whole = cells.whole_loads(node)
    return [m for m in metrics(document, node) if m.flow is None or m.cell in whole]


QUESTION = Question(
    name="saturation_check",
    title="All GPUs at once",
    description="bandwidth of all GPUs with host memory at once",
    program="nearfar-copy",
    cells=cells.saturation_ramps,
    levels=(ACCEPT,),
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    figures=figures,
    explains=60,
)
