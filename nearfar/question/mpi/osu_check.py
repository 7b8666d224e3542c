"""How fast is MPI in every placement of its ranks: OSU's latency, bandwidth, message rate and collectives."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nearfar.cells import Skip
from nearfar.measurement import Document
from nearfar.mpi.osu import BENCHMARKS, MpiCase, mpi_figures, subjects
from nearfar.topology import Node

from .. import ACCEPT, Question, synthetic_documents


def cases(
    node: Node, nodes: int = 1, benchmarks: Sequence[str] = (), ranks: int | None = None
) -> tuple[list[MpiCase], list[Skip]]:
    """Host buffers within the node, device buffers of every GPU, and between two nodes through every NIC."""
    return subjects.cases(node, nodes=nodes, benchmarks=benchmarks, ranks=ranks), []


def synthetic(node: Node, features: Collection[str]) -> Document:
    """Every case between two nodes too, where the partition has them."""
    return synthetic_documents.of_mpi(cases(node, nodes=2 if "two_nodes" in features else 1)[0], node)


QUESTION = Question(
    name="osu_check",
    title="MPI (OSU)",
    description="MPI in every placement (OSU Micro-Benchmarks)",
    program="nearfar osu",
    cells=cases,
    levels=(ACCEPT,),
    order=110,
    # A site asks for it with the feature `mpi`; a machine that no file describes has it where OSU and an MPI are found.
    systems=("+mpi -modelled",),
    features=("two_nodes", "cuda_mpi"),
    without_cells=lambda node: "fewer than two cores: there is no place for a second rank",
    quantities=lambda case: BENCHMARKS[case.benchmark].quantities,
    figures=lambda document, node: mpi_figures.figures(document),
    synthetic=synthetic,
    remedy="./validate --with spack builds and measures it, or, where it is installed, NEARFAR_OSU=/its/prefix (docs/guide/spack.md)",
)
