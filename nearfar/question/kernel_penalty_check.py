"""What does each path cost whole kernels: operands in, compute, results out, from the near memory and from every other?"""

from __future__ import annotations

from nearfar import cells, kernels
from nearfar.base import Finding
from nearfar.cells import Skip
from nearfar.measurement import Document
from nearfar.topology import Node

from . import gemm_check, topology_check
from .question import Question


def every_path(node: Node) -> tuple[list[str], list[Skip]]:
    """Each GPU with the memory of each NUMA node."""
    possible, left_out = cells.host_device_matrix(node)
    return kernels.subjects.of_paths(possible), topology_check.unloaded(possible, left_out)


def findings(document: Document | None) -> list[Finding]:
    """How the run was, and whether the links' rates explain the penalties."""
    return [*kernels.findings.of_run(document, kernels.KERNELS), *kernels.findings.of_penalties(document)]


QUESTION = Question(
    name="kernel_penalty_check",
    title="What a path costs kernels",
    key="penalty",
    description="kernels with their transfers, from every NUMA node",
    program="nearfar-kernels",
    cells=every_path,
    # No kernel is predicted.
    systems=("+gpu -modelled",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    quantities=lambda subject: (),
    figures=kernels.figures.of_penalties,
    findings=findings,
    synthetic=lambda node, features: gemm_check.synthetic(every_path(node)[0], node, kernels.quantities()),
)
