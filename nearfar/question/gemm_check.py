"""How fast does each GPU compute: matrix products in single precision, double precision and bf16?"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from nearfar import cells, kernels
from nearfar.cells import Skip
from nearfar.measurement import Document, Result
from nearfar.topology import Node

from . import synthetic_documents, topology_check
from .question import ACCEPT, NIGHTLY, Question


def nearest(node: Node) -> tuple[list[str], list[Skip]]:
    """Each GPU, with operands in the nearest memory."""
    possible, left_out = cells.host_device_matrix(node)
    chosen = topology_check.loading_cells(node, possible)
    return kernels.subjects.of_paths(chosen), topology_check.unloaded(possible, left_out)


def synthetic(paths: Iterable[str], node: Node, quantities: Sequence[str]) -> Document:
    """What ``nearfar-kernels`` prints of these paths, at every size, and smaller for want of memory."""
    raw, results = [], []
    for subject in paths:
        for size, smaller in itertools.product(kernels.SIZES, ("", "memory is in use")):
            for quantity in quantities:
                rate = synthetic_documents.rate("GFLOP/s" if quantity.endswith("gemm.rate") else "us")
                raw.append({"size": size})
                more: dict[str, Any] = {"smaller": smaller, "verified": True, "rate": rate}
                results.append(Result(quantity=quantity, subject=subject, bytes=1 if smaller else 2, **more))
    return synthetic_documents.document({"results": raw}, node, results)


QUESTION = Question(
    name="gemm_check",
    title="GPU compute",
    description="rate of matrix products on each GPU",
    program="nearfar-kernels",
    cells=nearest,
    levels=(NIGHTLY, ACCEPT),
    # No kernel is predicted.
    systems=("+gpu -modelled",),
    options=("--rate-only", "--kernels", ",".join(kernels.GEMM), "--size", "today"),
    nothing_to_ask="no GPU on this node",
    # A kernel whose library is missing is a skip of its own: a finding says which was left out without a reason.
    quantities=lambda subject: (),
    figures=lambda document, node: kernels.figures.of_compute(document),
    findings=lambda document: kernels.findings.of_run(document, kernels.GEMM),
    synthetic=lambda node, features: synthetic(
        nearest(node)[0], node, [f"kernel.{kernel}.rate" for kernel in kernels.GEMM]
    ),
)
