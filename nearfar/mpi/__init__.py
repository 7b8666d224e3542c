"""MPI: OSU's benchmarks (``osu``), contention between MPI and copies, load balance between ranks, which rank of a job died.

Gives the figures of their documents and what is found besides.

Needs: base, topology, measurement.
"""

from __future__ import annotations

from . import as_root, contention, load_balance, rank_deaths
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
    "rank_deaths",
]
