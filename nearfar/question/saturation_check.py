"""How much do all GPUs carry at once: 1, 2, ... GPUs, spread over packages, packed on one, and across the package link."""

from __future__ import annotations

from nearfar import cells
from nearfar.cells import Cell, Skip
from nearfar.measurement import Document, Metric, metrics
from nearfar.topology import Node

from .question import ACCEPT, Question, one_gpu


def ramps(node: Node) -> tuple[list[Cell], list[Skip]]:
    """The ramps of a node with several GPUs; of one alone ``host_device_check`` measures every step."""
    return cells.saturation_ramps(node) if len(node.gpus) != 1 else ([], [])


def figures(document: Document, node: Node) -> list[Metric]:
    """Totals and fairness of every step; each GPU's share where all GPUs of a ramp take part."""
    whole = cells.whole_loads(node)
    return [m for m in metrics(document, node) if m.flow is None or m.cell in whole]


QUESTION = Question(
    name="saturation_check",
    title="All GPUs at once",
    description="bandwidth of all GPUs with host memory at once",
    program="nearfar-copy",
    cells=ramps,
    levels=(ACCEPT,),
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    without_cells=one_gpu,
    figures=figures,
    explains=60,
)
