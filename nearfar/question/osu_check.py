"""How fast is MPI in every placement of its ranks: OSU's latency, bandwidth, message rate and collectives."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from nearfar.binding import MPIS
from nearfar.cells import Skip
from nearfar.measurement import Document, Result
from nearfar.mpi.osu import BENCHMARKS, BESIDE, LARGE, MIDDLE, SMALL, WITHIN, MpiCase, mpi_figures, subjects
from nearfar.topology import Node

from . import messages, synthetic_documents
from .question import ACCEPT, OSU, Question
from .row_names import first_unknown

_OSU_CLASSES = (*WITHIN, *BESIDE, *(f"{place}_over_{right}" for place, right in (
    (WITHIN[1], WITHIN[0]), (WITHIN[2], WITHIN[0]), ("on_socket", "near"), ("off_socket", "near"))))  # fmt: skip
_BUFFERS = ("H_H", "D_D", "D_H", "H_D")
_LABELS = ("8B", "64KiB", "4MiB", "peak")


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


def misspelt(row: str) -> str | None:
    """What of a row's name no figure of any node can have; None if a node could have it."""
    fields = row.split(".")
    at = next((place for place, field in enumerate(fields) if field.startswith("osu_")), None)
    if at is None or not 0 < at <= 2 or len(fields) < at + 3:
        return "a row is PLACEMENT.BENCHMARK.BUFFERS….SIZE, such as near.osu_bw.D_D.peak"
    parts: list[tuple[str, Iterable[str], str]] = [
        (fields[at - 1], _OSU_CLASSES, "placement"), (fields[at], BENCHMARKS, "benchmark"),
        (fields[at + 1], _BUFFERS, "pair of buffers"),
    ]  # fmt: skip
    if at == 2:
        parts.append((fields[0].partition("_")[0], MPIS, "MPI"))
    if not re.fullmatch(r"\d+B", fields[-1]):
        parts.append((fields[-1], _LABELS, "message size"))
    return first_unknown(parts)


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
    remedy="./validate --with spack builds and measures it, or, where it is installed, NEARFAR_OSU=/its/prefix (docs/guide/spack.md)",
    misspelt=misspelt,
    between_nodes=OSU,
)
