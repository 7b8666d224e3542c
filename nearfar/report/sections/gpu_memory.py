"""Kernels of GPUs: the line of a check that runs them, and what each gets of its own memory as a map."""

from __future__ import annotations

from dataclasses import replace

from nearfar import cells
from nearfar.report.charts import CellGaps, Matrix, Place, grid, with_sum
from nearfar.report.figures import Figure

#: The columns of the map.
_KERNELS = (*cells.KERNELS, *cells.GPU_KERNELS)


def memory_matrices(figures: list[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """GPU × kernel on its own memory, and all GPUs at once beside it; none where no such cell was asked for. ``gpus`` are those the node
    has; cells may add to them."""
    places: dict[tuple[int, int], list[Figure]] = {}
    for figure in figures:
        place = _place(figure.cell)
        if place is not None and not figure.is_ratio:
            places.setdefault(place, []).append(figure)
    lost = [place for place in map(_place, [*why.failed, *why.skipped, *why.missing]) if place is not None]
    if not places and not lost:
        return []
    rows = tuple(sorted({*gpus, *(gpu for gpu, _ in [*places, *lost])}))
    columns = tuple(sorted({kernel for _, kernel in [*places, *lost]}))

    def nothing(gpu: int, kernel: int) -> Place:
        return why.place(cells.parse(f"g{gpu}:g{gpu}/{_KERNELS[kernel]}"))

    matrix = grid("memory", "Each GPU on its own memory", rows, columns, "g", "kernel", places, nothing)
    together = [f for f in figures if f.is_total and f.cell is not None and _own(f.cell)]
    return [replace(with_sum(matrix, together), column_names=tuple(_KERNELS[kernel] for kernel in columns))]


def _place(cell: cells.Cell | None) -> tuple[int, int] | None:
    """GPU and kernel of a lone kernel on its own memory; None for any other cell."""
    if cell is None or not cell.lone or not _own(cell):
        return None
    return cell.flows[0].gpus[0], _KERNELS.index(cell.flows[0].direction)


def _own(cell: cells.Cell) -> bool:
    return all(flow.kind == "gpu_stream" and flow.source == flow.destination for flow in cell.flows)
