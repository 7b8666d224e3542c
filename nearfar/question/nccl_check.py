"""Do collectives among the node's GPUs reach the bus bandwidth that its links allow: NVIDIA's nccl-tests."""

from __future__ import annotations

from collections.abc import Collection

from nearfar import nccl
from nearfar.cells import Skip
from nearfar.measurement import Document, Result
from nearfar.nccl import NcclCase
from nearfar.topology import Node

from . import synthetic_documents
from .question import ACCEPT, Question, one_gpu


def cases(
    node: Node, nodes: int = 1, tests: tuple[str, ...] = (), nvls: bool = False
) -> tuple[list[NcclCase], list[Skip]]:
    """Each test among all GPUs of the node, or of two such nodes."""
    return nccl.cases(node, nodes, tests, nvls), []


def synthetic(node: Node, features: Collection[str]) -> Document:
    """Of every case, with and without NVLink's multicast, those between two nodes too if the partition has them."""
    counts = (1, 2) if "two_nodes" in features else (1,)
    every = [case for nodes in counts for nvls in (False, True) for case in nccl.cases(node, nodes, (), nvls)]
    results = [
        Result(quantity=nccl.BUSBW, subject=str(case), bytes=size, verified=True, rate=synthetic_documents.rate("GB/s"))
        for case in every
        for size in nccl.SIZES
    ]
    return synthetic_documents.document({}, node, results)


QUESTION = Question(
    name="nccl_check",
    title="Collectives (NCCL)",
    description="bus bandwidth of NCCL's collectives (nccl-tests)",
    program="nccl-tests",
    cells=cases,
    levels=(ACCEPT,),
    acceptance_only=True,
    # A site asks for it with the feature `nccl`; a machine that no file describes has it where nccl-tests are found.
    systems=("+gpu +nccl -modelled",),
    features=("two_nodes",),
    nothing_to_ask="no GPU on this node",
    without_cells=one_gpu,
    quantities=lambda case: (nccl.BUSBW,),
    figures=lambda document, node: nccl.figures(document),
    findings=nccl.findings,
    synthetic=synthetic,
    remedy=nccl.INSTALL,
)
