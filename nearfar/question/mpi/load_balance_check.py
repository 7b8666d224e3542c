"""Are the ranks of a node balanced that transfer, compute and wait for each other: as launched, and bound to their GPUs?"""

from __future__ import annotations

from nearfar.cells import Skip
from nearfar.mpi import load_balance
from nearfar.mpi.osu import INSTALL_MPI
from nearfar.topology import Node

from .. import ACCEPT, Question, synthetic_documents


def subjects(node: Node, bindings: str = "default,gpu") -> tuple[list[str], list[Skip]]:
    """One rank a GPU in POP's saxpy pattern, by binding; the pack's own is at least as good as the launcher's."""
    return [load_balance.subject(word) for word in bindings.split(",")] if len(node.gpus) > 1 else [], []


QUESTION = Question(
    name="load_balance_check",
    title="Load balance",
    description="load balance of one rank a GPU, by binding",
    program="nearfar-kernels",
    options=("saxpy",),
    cells=subjects,
    levels=(ACCEPT,),
    order=90,
    # A site asks for it with the feature `ranks`; a machine that no file describes has it where an MPI is found. No waiting
    # is predicted.
    systems=("+gpu +ranks -modelled",),
    nothing_to_ask="no GPU on this node",
    without_cells=lambda node: "one GPU: there is nothing to balance" if len(node.gpus) == 1 else "",
    quantities=lambda subject: load_balance.QUANTITIES,
    figures=lambda document, node: load_balance.figures(document),
    findings=load_balance.findings,
    remedy=INSTALL_MPI,
    synthetic=lambda node, features: synthetic_documents.of_saxpy(node),
)
