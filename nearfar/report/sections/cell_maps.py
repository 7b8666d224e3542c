"""Maps of a check's cells."""

from __future__ import annotations

from dataclasses import replace

from nearfar import cells
from nearfar.report.charts import (
    CellGaps,
    Matrix,
    cell_map,
    core_share_matrices,
    host_device_matrices,
    host_map,
    ratio_matrices,
    stream_matrices,
    with_sum,
)
from nearfar.report.figures import Figure

from .peers import pair_map, peer_matrices, staged_ratios

_TITLES = {
    "latency_copy": "Tiny copy, from its enqueueing to its completion",
    "latency_chase": "Load by a kernel, each address from the last",
    "latency_launch": "Launch of an empty kernel",
}
#: The columns of the map.
_KERNELS = (*cells.KERNELS, *cells.GPU_KERNELS)


def maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int], rates: bool) -> list[Matrix]:
    """Maps of latencies; where there are none, of ``rates``. ``numa`` and ``gpus`` are those the node has."""
    times = latency_matrices(figures, why, numa, gpus)
    if times or not rates:
        return times
    return [
        *host_device_matrices(figures, why, numa, gpus),
        *stream_matrices(figures, why, numa),
        *core_share_matrices(figures, why),
        *memory_matrices(figures, why, gpus),
        *peer_matrices(figures, why, gpus),
    ]


def ratio_maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int]) -> list[Matrix]:
    """Maps of ratios: far over near, staged over direct."""
    return [*ratio_matrices(figures, why, numa, gpus), *staged_ratios(figures, why, gpus)]


def latency_matrices(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int]) -> list[Matrix]:
    """Each latency as GPU × NUMA node and GPU × GPU; a launch is the same for all paths of a GPU, and has one map."""
    found: list[Matrix | None] = []
    for what, title in _TITLES.items():
        mine = [f for f in figures if f.derived == what]
        found += [host_map(mine, why, numa, gpus, "h2d", f"{title}: host memory")] if mine else []
        if mine and what != "latency_launch":
            found.append(pair_map(mine, why, gpus, "write", f"{title}: GPU to GPU"))
    return [matrix for matrix in found if matrix is not None]


def memory_matrices(figures: list[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """GPU × kernel on its own memory, and all GPUs at once beside it; none where no such cell was asked for. ``gpus`` are those the node
    has; cells may add to them."""

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        own = cell.lone and _own(cell)
        return (cell.flows[0].gpus[0], _KERNELS.index(cell.flows[0].direction)) if own else None

    def cell(gpu: int, kernel: int) -> cells.Cell:
        return cells.parse(f"g{gpu}:g{gpu}/{_KERNELS[kernel]}")

    rates = [figure for figure in figures if not figure.is_ratio]
    matrix = cell_map("memory", "Each GPU on its own memory", rates, why, ends, cell, "gk", gpus)
    if matrix is None:
        return []
    names = tuple(_KERNELS[kernel] for kernel in matrix.columns)
    together = [f for f in figures if f.is_total and f.cell is not None and _own(f.cell)]
    return [replace(with_sum(matrix, together), column_names=names)]


def _own(cell: cells.Cell) -> bool:
    return all(flow.kind == "gpu_stream" and flow.source == flow.destination for flow in cell.flows)
