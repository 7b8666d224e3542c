"""The kernels, their sizes, and the quantities of each."""

from __future__ import annotations

import re

#: Every kernel, in the order of the tables.
KERNELS = (
    "sgemm", "dgemm", "bf16gemm", "sfft", "dfft", "md", "dmd", "reduction", "scan", "sort", "spmv", "stencil", "triad",
)  # fmt: skip
#: Those whose rate says what a GPU computes.
GEMM = ("sgemm", "dgemm", "bf16gemm")
#: Sizes by their word in documents.
SIZES = {"paper": "the paper's size", "today": "today's size"}
#: The times of one call, in us.
TIMES = ("in", "compute", "out", "total", "overlapped")
#: What is counted of the kernel alone.
RATE = "rate"

_QUANTITY = re.compile(rf"kernel\.(?P<host>host\.)?(?P<kernel>\w+)\.(?P<what>{'|'.join((*TIMES, RATE))})")


def quantity(kernel: str, what: str) -> str:
    """``kernel.sgemm.total``."""
    return f"kernel.{kernel}.{what}"


def quantities() -> tuple[str, ...]:
    """What is measured of each kernel."""
    return tuple(quantity(kernel, what) for kernel in KERNELS for what in (*TIMES, RATE))


def parts_of(text: str) -> tuple[str, str, bool] | None:
    """``kernel.host.triad.rate`` as (``triad``, ``rate``, True: computed by cores); None for another program's."""
    match = _QUANTITY.fullmatch(text)
    return None if match is None else (match["kernel"], match["what"], match["host"] is not None)
