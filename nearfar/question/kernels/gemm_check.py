"""How fast does each GPU compute: matrix products in single precision, double precision and bf16?"""

from __future__ import annotations

from nearfar import cells, kernels
from nearfar.cells import Skip
from nearfar.topology import Node

from .. import ACCEPT, Question, synthetic_documents, topology_check


def nearest(node: Node) -> tuple[list[str], list[Skip]]:
    """Each GPU, with operands in the nearest memory."""
    possible, left_out = cells.host_device_matrix(node)
    chosen = topology_check.loading_cells(node, possible)
    return kernels.subjects.of_paths(chosen), topology_check.unloaded(possible, left_out)


QUESTION = Question(
    name="gemm_check",
    title="GPU compute",
    description="rate of matrix products on each GPU",
    program="nearfar-kernels",
    cells=nearest,
    levels=(ACCEPT,),
    order=27,
    # No kernel is predicted.
    systems=("+gpu -modelled",),
    options=("--kernels", ",".join(kernels.GEMM), "--size", "today"),
    nothing_to_ask="no GPU on this node",
    # A kernel whose library is missing is a skip of its own: a finding says which was left out without a reason.
    quantities=lambda subject: (),
    figures=lambda document, node: kernels.figures.of_compute(document),
    findings=lambda document: kernels.findings.of_run(document, kernels.GEMM),
    synthetic=lambda node, features: synthetic_documents.of_kernels(nearest(node)[0], node, kernels.GEMM),
)
