"""How fast is MPI in every placement of its ranks: OSU's latency, bandwidth, message rate and collectives."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nearfar.cells import Skip
from nearfar.measurement import Document, Result
from nearfar.mpi.osu import BENCHMARKS, LARGE, MIDDLE, SMALL, MpiCase, mpi_figures, subjects
from nearfar.topology import Node

from . import messages, synthetic_documents
from .question import ACCEPT, OSU, Question


def cases(
    node: Node, nodes: int = 1, benchmarks: Sequence[str] = (), ranks: int | None = None
) -> tuple[list[MpiCase], list[Skip]]:
    """Host buffers within the node, device buffers of every GPU, and between two nodes through every NIC."""
    return subjects.cases(node, nodes=nodes, benchmarks=benchmarks, ranks=ranks), []


def synthetic(node: Node, features: Collection[str]) -> Document:
    """Of every case, those between two nodes too if the partition has them."""
    results = [
        Result(quantity=quantity, subject=str(case), bytes=size, verified=True, rate=synthetic_documents.rate(unit))
        for case in cases(node, nodes=2 if "two_nodes" in features else 1)[0]
        for _, quantity, unit, _ in BENCHMARKS[case.benchmark].columns
        for size in (SMALL, MIDDLE, LARGE)
    ]
    return synthetic_documents.document({}, node, results)


QUESTION = Question(
    name="osu_check",
    title="MPI (OSU)",
    description="MPI in every placement (OSU Micro-Benchmarks)",
    program="nearfar osu",
    cells=cases,
    levels=(ACCEPT,),
    # A site asks for it with the feature `mpi`; a machine that no file describes has it where OSU and an MPI are found.
    systems=("+mpi -modelled",),
    features=("two_nodes", "cuda_mpi"),
    without_cells=lambda node: messages.ONE_CORE.finding("cells"),
    quantities=lambda case: BENCHMARKS[case.benchmark].quantities,
    figures=lambda document, node: mpi_figures.figures(document),
    synthetic=synthetic,
    remedy="./validate --with spack builds and measures it, or, where it is installed, NEARFAR_OSU=/its/prefix (docs/deploy.md)",
    between_nodes=OSU,
)
