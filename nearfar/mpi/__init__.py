"""MPI: OSU's benchmarks (``osu``), messages between NUMA nodes, contention between MPI and copies, load balance between ranks,
which rank of a job died, and what lets Open MPI start ranks as root.

Gives the figures of their documents and what is found besides.

Needs: base, topology, cells, measurement, binding.
"""

from __future__ import annotations

from . import as_root, contention, load_balance, numa_pairs, rank_deaths
from .contention import TRAFFICS, ContentionSubject
from .load_balance import BINDINGS
from .rank_deaths import death

__all__ = [
    "BINDINGS",
    "TRAFFICS",
    "ContentionSubject",
    "as_root",
    "contention",
    "death",
    "load_balance",
    "numa_pairs",
    "rank_deaths",
]
