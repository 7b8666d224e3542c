"""What do MPI and the GPUs' transfers cost each other as threads of one rank: both beside the GPU, or split over packages?"""

from __future__ import annotations

from nearfar.cells import Skip
from nearfar.mpi import contention
from nearfar.topology import Node

from . import contention_check
from .question import Question


def subjects(node: Node) -> tuple[list[str], list[Skip]]:
    """With one to all GPUs; split only where there is another package."""
    movers = len(node.gpus)
    if contention.cores(node) < 4 * movers:
        return [], []
    sides = ["together", "split"] if len(node.packages) > 1 else ["together"]
    return contention.subjects(sides, range(1, movers + 1)), []


def every_subject(node: Node) -> list[str]:
    """Those of any number of cores and packages."""
    return contention.subjects(["together", "split"], range(1, len(node.gpus) + 1))


QUESTION = Question(
    name="thread_split_check",
    title="Threads together and split",
    key="penalty",
    description="MPI and GPU threads of one rank, together and split",
    program="nearfar-contention",
    cells=subjects,
    systems=("+gpu +ranks -modelled",),
    nothing_to_ask="no GPU on this node",
    without_cells=contention.too_few_cores,
    quantities=contention.quantities,
    figures=lambda document, node: contention.figures(document),
    findings=contention.findings,
    synthetic=lambda node, features: contention_check.synthetic(every_subject(node), node),
)
