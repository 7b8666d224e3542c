"""MPI: OSU's benchmarks (``osu``), messages between NUMA nodes, contention between MPI and copies, load balance between ranks,
which rank of a job died, what lets Open MPI start ranks as root, and what binds a rank before it becomes a program (``rank_files``).

Gives the figures of their documents and what is found besides.

Needs: base, topology, cells, measurement, binding.
"""

from __future__ import annotations

from . import as_root, contention, load_balance, messages, numa_pairs, rank_deaths, rank_files
from .contention import TRAFFICS
from .rank import WATCHER
from .rank_deaths import death
from .rank_files import RankAccount, RankPlan
