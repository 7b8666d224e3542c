"""Heat maps of latencies: host memory and GPUs, GPU and GPU; a tiny copy, a load by a kernel, a launch."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.report.charts import CellGaps, Matrix, host_map
from nearfar.report.figures import Figure, span

from .peers import pair_map, pair_of

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


def line(figures: list[Figure], expected: Callable[[list[Figure]], str]) -> str | None:
    """Ranges in one line, with what is ``expected`` of those that have a reference; None where no latency was measured."""
    words = {"latency_copy": "tiny copy", "latency_chase": "load", "latency_launch": "launch"}
    parts = []
    for what, label in words.items():
        for pairs in (False, True):
            mine = [f for f in figures if f.derived == what and (pair_of(f.cell) is not None) == pairs]
            values = [f.value for f in mine if f.value is not None]
            if values and not (pairs and what == "latency_launch"):
                known = any(f.reference for f in mine)
                parts.append(
                    f"{label} {span(values)}{' between GPUs' if pairs else ''}{f' ({expected(mine)})' if known else ''}"
                )
    return f"{', '.join(parts)} µs" if parts else None
