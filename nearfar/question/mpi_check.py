"""How fast are messages between ranks of the node, by where they are bound: ping-pong and stream of the pack's own, in host memory?"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nearfar.binding import MPIS
from nearfar.cells import Skip
from nearfar.mpi import TRAFFICS, numa_pairs
from nearfar.mpi.osu import INSTALL_MPI, WITHIN
from nearfar.topology import Node

from . import messages, synthetic_documents
from .contention_check import of_mpi_alone
from .question import ACCEPT, Question
from .row_names import first_unknown


def subjects(node: Node) -> tuple[list[str], list[Skip]]:
    """Ranks on one NUMA node, on two of a package, on two packages, and on the cores beside GPUs."""
    return numa_pairs.subjects(node), []


def misspelt(row: str) -> str | None:
    """What of a row's name no figure of any node can have; None if a node could have it."""
    fields = row.split(".")
    rest = [field for field in fields if not re.fullmatch(r"n\d+_n\d+", field)]
    if len(rest) not in (2, 3):
        return "a row is PLACEMENT.MESSAGES, such as same_numa_node.pingpong_8B"
    known = [*WITHIN, numa_pairs.UNKNOWN]
    known += [f"{ratio}_{numa_pairs.OVER}" for ratio in known if ratio != numa_pairs.RIGHT]
    parts: list[tuple[str, Iterable[str], str]] = [(rest[0].partition("_")[0], MPIS, "MPI")] if len(rest) == 3 else []
    return first_unknown([*parts, (rest[-2], known, "placement"), (rest[-1], TRAFFICS, "kind of messages")])


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
    misspelt=misspelt,
)
