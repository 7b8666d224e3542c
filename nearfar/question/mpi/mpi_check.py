"""How fast are messages between ranks of the node, by where they are bound: ping-pong and stream of the pack's own, in host memory?"""

from __future__ import annotations

from nearfar.cells import Skip
from nearfar.mpi import numa_pairs
from nearfar.mpi.osu import INSTALL_MPI
from nearfar.topology import Node

from .. import ACCEPT, Question, synthetic_documents


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
    order=105,
    # A site asks for it with the feature `ranks`; a machine that no file describes has it where an MPI is found.
    systems=("+ranks -modelled",),
    without_cells=lambda node: "fewer than two cores: there is no place for a second rank",
    quantities=numa_pairs.quantities,
    figures=numa_pairs.figures,
    remedy=INSTALL_MPI,
    synthetic=lambda node, features: synthetic_documents.of_pairs(numa_pairs.subjects(node), node),
)
