"""What do MPI and the GPUs' transfers cost each other, in ranks of their own?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nearfar.cells import Skip
from nearfar.measurement import Document
from nearfar.mpi import contention
from nearfar.topology import Node

from . import synthetic_documents
from .question import Question


def subjects(node: Node, fill: bool = True) -> tuple[list[str], list[Skip]]:
    """A pair of ranks for each task, and with ``fill`` pairs on all cores that are left."""
    movers = len(node.gpus)
    pairs = (contention.ranks(node, movers, fill) - movers) // 2
    sides = ["per_task"] if movers and pairs >= movers else []
    if pairs > movers > 0:
        sides.append("all_cores")
    elif 0 < pairs < movers:
        sides.append("pairs")
    return contention.subjects(sides, [movers]), []


def every_subject(node: Node) -> list[str]:
    """Those of any number of cores."""
    return contention.subjects(["per_task", "all_cores", "pairs"], [len(node.gpus)]) if node.gpus else []


def synthetic(subjects: Iterable[str], node: Node) -> Document:
    """What ``nearfar-contention`` prints of these subjects."""
    results = []
    for subject in subjects:
        latency = "pingpong" in subject
        if ".mpi_only." in subject:
            results.append(of_mpi_alone(subject, latency))
            continue
        mpi = contention.MPI_LATENCY if latency else contention.MPI_BANDWIDTH
        suffixes = ("penalty", "tail_penalty", "polled_penalty") if latency else ("penalty", "polled_penalty")
        for quantity, penalties in ((mpi, suffixes), (contention.MOVED[0], ("penalty",))):
            rate = {"unit": "1", "median": 1.0}
            result = {"quantity": quantity, "cell": subject, "converged": True, "verified": True, "flows": []}
            results.append({**result, **dict.fromkeys(penalties, rate)})
    return synthetic_documents.document({"results": results}, node)


def of_mpi_alone(subject: str, latency: bool) -> dict[str, Any]:
    """A result of messages beside nothing."""
    total = {"unit": "us" if latency else "GB/s", "median": 1.0}
    return {"quantity": contention.ALONE[not latency], "cell": subject, "converged": True, "verified": True,
            "flows": [], "total": total}  # fmt: skip


QUESTION = Question(
    name="contention_check",
    title="MPI beside transfers",
    key="penalty",
    description="MPI beside GPU transfers, in ranks of their own",
    program="nearfar-contention",
    cells=subjects,
    systems=("+gpu +ranks -modelled",),
    nothing_to_ask="no GPU on this node",
    without_cells=contention.too_few_cores,
    quantities=contention.quantities,
    figures=lambda document, node: contention.figures(document),
    findings=contention.findings,
    synthetic=lambda node, features: synthetic(every_subject(node), node),
)
