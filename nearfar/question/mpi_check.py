"""How fast are messages between ranks of the node, by where they are bound: ping-pong and stream of the pack's own, in host memory?"""

from __future__ import annotations

from nearfar.cells import Skip
from nearfar.mpi import numa_pairs
from nearfar.mpi.osu import INSTALL_MPI
from nearfar.topology import Node

from . import messages, synthetic_documents
from .contention_check import of_mpi_alone
from .question import ACCEPT, Question


def subjects(node: Node) -> tuple[list[str], list[Skip]]:
    """Ranks on one NUMA node, on two of a package, on two packages, and on the cores beside GPUs."""
    return numa_pairs.subjects(node), []


QUESTION = Question(
    name="mpi_check",
    title="MPI by binding",
    description="MPI between ranks of the node by binding (the pack's own ping-pong and stream)",
    program="nearfar-contention",
    cells=subjects,
    levels=(ACCEPT,),
    # A site asks for it with the feature `ranks`; a machine that no file describes has it where an MPI is found.
    systems=("+ranks -modelled",),
    without_cells=lambda node: messages.ONE_CORE.finding("cells"),
    quantities=numa_pairs.quantities,
    figures=numa_pairs.figures,
    remedy=INSTALL_MPI,
    synthetic=lambda node, features: synthetic_documents.document(
        {"results": [of_mpi_alone(each, "pingpong" in each) for each in numa_pairs.subjects(node)]}, node
    ),
)
