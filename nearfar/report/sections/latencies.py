"""Heat maps of latencies: host memory and GPUs, GPU and GPU; a tiny copy, a load by a kernel, a launch."""

from __future__ import annotations

from nearfar.report.charts import CellGaps, Matrix, host_map
from nearfar.report.figures import Figure

from .peers import pair_map

_TITLES = {
    "latency_copy": "Tiny copy, from its enqueueing to its completion",
    "latency_chase": "Load by a kernel, each address from the last",
    "latency_launch": "Launch of an empty kernel",
}


def latency_matrices(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int]) -> list[Matrix]:
    """Each latency as GPU × NUMA node and GPU × GPU; a launch is the same for all paths of a GPU, and has one map."""
    found = []
    for what, title in _TITLES.items():
        mine = [f for f in figures if f.derived == what]
        if mine:
            found.append(host_map(mine, why, numa, gpus, "h2d", f"{title}: host memory"))
            found.append(
                pair_map(mine, why, gpus, "write", f"{title}: GPU to GPU") if what != "latency_launch" else None
            )
    return [matrix for matrix in found if matrix is not None]
