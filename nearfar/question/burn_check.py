"""Do all GPUs compute right at full load, for a minute, and does anything but the power limit hold them down?"""

from __future__ import annotations

from nearfar import kernels
from nearfar.measurement import Document, Result
from nearfar.topology import Node

from . import synthetic_documents
from .question import ACCEPT, Question

#: What loads an H100 up to its power limit and is exact all the same.
KERNEL = "bf16gemm"


def synthetic(node: Node) -> Document:
    """What ``nearfar-kernels --sustain`` prints."""
    rate = synthetic_documents.rate("GFLOP/s")
    results = [
        Result(quantity=kernels.sustained.QUANTITY, subject=f"g{gpu.index}", verified=True, rate=rate)
        for gpu in node.gpus
    ]
    return synthetic_documents.document({"results": [{"kernel": KERNEL} for _ in results]}, node, results)


QUESTION = Question(
    name="burn_check",
    title="All GPUs at full load",
    description="exact matrix products on all GPUs at the same time for a minute, with clocks, power and temperature",
    program="nearfar-kernels",
    cells=lambda node: ([f"g{gpu.index}" for gpu in node.gpus], []),
    levels=(ACCEPT,),
    acceptance_only=True,
    # No kernel is predicted.
    systems=("+gpu -modelled",),
    options=("--kernels", KERNEL),
    nothing_to_ask="no GPU on this node",
    quantities=lambda subject: (),
    figures=lambda document, node: kernels.sustained.figures(document),
    findings=kernels.sustained.findings,
    synthetic=lambda node, features: synthetic(node),
    answer=kernels.sustained.PRODUCTS,
)
