"""Kernels with their transfers, by ``nearfar-kernels``: what its documents hold, what each path class costs a kernel beside the near
one and what the link alone would cost it, and the rate of a GPU's compute.

Needs: base, topology, cells, measurement.
"""

from __future__ import annotations

from . import figures, findings, link_rates, penalties, subjects
from .measured import KernelRun, runs
from .names import GEMM, KERNELS, SIZES, Kernel, quantities
from .penalties import KernelPenalty

__all__ = [
    "GEMM",
    "KERNELS",
    "SIZES",
    "Kernel",
    "KernelPenalty",
    "KernelRun",
    "figures",
    "findings",
    "link_rates",
    "penalties",
    "quantities",
    "runs",
    "subjects",
]
