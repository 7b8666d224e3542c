"""The kernels, their sizes, and the quantities of each."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """``name`` as subjects and quantities have it; ``library``: what computes it, empty where the program has it itself."""

    name: str
    words: str
    library: str = ""


#: Every kernel, in the order of the tables.
KERNELS = {
    each.name: each
    for each in (
        Kernel("sgemm", "matrix product, single precision", "cuBLAS"),
        Kernel("dgemm", "matrix product, double precision", "cuBLAS"),
        Kernel("bf16gemm", "matrix product, bf16", "cuBLAS"),
        Kernel("sfft", "Fourier transform, single precision", "cuFFT"),
        Kernel("dfft", "Fourier transform, double precision", "cuFFT"),
        Kernel("md", "Lennard-Jones forces, single precision"),
        Kernel("dmd", "Lennard-Jones forces, double precision"),
        Kernel("reduction", "sum of an array", "CUB"),
        Kernel("scan", "prefix sums of an array", "CUB"),
        Kernel("sort", "sort of keys", "CUB"),
        Kernel("spmv", "sparse matrix times vector", "cuSPARSE"),
        Kernel("stencil", "nine-point stencil"),
        Kernel("triad", "STREAM triad"),
    )
}
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
