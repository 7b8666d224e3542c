"""What do MPI and the GPUs' transfers cost each other, in ranks of their own?"""

from __future__ import annotations

from nearfar.cells import Skip
from nearfar.mpi import contention
from nearfar.topology import Node

from .. import Question, synthetic_documents


def subjects(node: Node, fill: bool = True) -> tuple[list[str], list[Skip]]:
    """A pair of ranks for each task, and with ``fill`` pairs on all cores that are left."""
    movers = len(node.gpus)
    pairs = (contention.ranks(node, movers, fill) - movers) // 2
    words = ["per_task"] if movers and pairs >= movers else []
    if pairs > movers > 0:
        words.append("all_cores")
    elif 0 < pairs < movers:
        words.append("pairs")
    return contention.subjects(words, [movers]), []


def every_subject(node: Node) -> list[str]:
    """Those of any number of cores."""
    return contention.subjects(["per_task", "all_cores", "pairs"], [len(node.gpus)]) if node.gpus else []


QUESTION = Question(
    name="contention_check",
    title="MPI beside transfers",
    description="MPI beside GPU transfers, in ranks of their own",
    program="nearfar-contention",
    cells=subjects,
    order=120,
    systems=("+gpu +ranks -modelled",),
    nothing_to_ask="no GPU on this node",
    without_cells=contention.too_few_cores,
    quantities=contention.quantities,
    figures=lambda document, node: contention.figures(document),
    findings=contention.findings,
    synthetic=lambda node, features: synthetic_documents.of_contention(every_subject(node), node),
)
