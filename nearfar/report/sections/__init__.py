"""What the page says of each kind of question: one module for each part of the page.

Needs: base, topology, cells, measurement, kernels, model.diagnosis, model.prediction, binding, mpi, mpi.osu, verdict, report.charts,
report.explanations, report.figures, report.node_drawing.
"""

from __future__ import annotations

from . import (
    balance,
    contention,
    gpu_memory,
    kernels,
    latencies,
    many_gpus,
    mpi,
    numa_pairs,
    peers,
    provenance,
    size_curves,
)
from .balance import Balance, balances
from .contention import contention_tables
from .exchanges import exchange_tables
from .gpu_memory import memory_matrices
from .kernels import KernelPart, kernel_part
from .latencies import latency_matrices
from .many_gpus import Ramp, ramps
from .modelled_capacities import CapacityRow, used_capacities
from .mpi import MpiTable, mpi_tables
from .node_state import state_line
from .numa_pairs import numa_pair_tables
from .peers import peer_matrices, staged_ratios
from .published import Published, beside
from .size_curves import SizeCurves, size_curves_of
from .tables import TextTable
from .unmeasured import Gap, gaps, nothing
from .uplinks import uplink_rates
