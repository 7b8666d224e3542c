"""How fast do GPUs talk to each other: pairs, each way and both, with peer access off; one with all, pairs side by side."""

from __future__ import annotations

from nearfar import cells
from nearfar.cells import Cell, Skip
from nearfar.measurement import Document, Metric, metrics
from nearfar.topology import Node

from .question import ACCEPT, NIGHTLY, Question, one_gpu


def pairs_and_exchanges(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Every pair of GPUs of the node, and many at once."""
    (pairs, left_out), (many, left_too) = cells.peer_matrix(node), cells.exchanges(node)
    return [*pairs, *many], [*left_out, *left_too]


def figures(document: Document, node: Node) -> list[Metric]:
    """All but the single shares of one to all and all to one: these stay in the document."""
    return [m for m in metrics(document, node) if m.flow is None or not cells.divided_by_the_fabric(m.cell)]


QUESTION = Question(
    name="peer_check",
    title="GPU ↔ GPU",
    description="bandwidth between GPUs",
    program="nearfar-copy",
    cells=pairs_and_exchanges,
    levels=(NIGHTLY, ACCEPT),
    systems=("+gpu",),
    nothing_to_ask="no GPU on this node",
    without_cells=one_gpu,
    figures=figures,
    explains=30,
)
