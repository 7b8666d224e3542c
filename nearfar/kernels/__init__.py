"""Kernels with their transfers, by ``nearfar-kernels``: what its documents hold, what each path class costs a kernel beside the near
one and what the link alone would cost it, the rate of a GPU's compute, and what it computes at full load for long.

Needs: base, topology, cells, measurement.
"""

from __future__ import annotations

from . import figures, findings, link_rates, penalties, subjects, sustained
from .measured import KernelRun, runs
from .names import GEMM, KERNELS, SIZES, quantities
from .penalties import KernelPenalty
