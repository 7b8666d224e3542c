"""Maps of a check's cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nearfar import cells
from nearfar.report.charts import (
    MIRROR,
    SELF,
    CellGaps,
    Matrix,
    Place,
    cell_map,
    core_share_matrices,
    host_device_matrices,
    host_map,
    ratio_matrices,
    stream_matrices,
    with_sum,
)
from nearfar.report.figures import Figure

_TITLES = {
    "latency_copy": "Tiny copy, from its enqueueing to its completion",
    "latency_chase": "Load by a kernel, each address from the last",
    "latency_launch": "Launch of an empty kernel",
}
#: What is asked of a pair, and the title of its map.
_PAIRS = {
    "write": "GPU to GPU, written by the source",
    "read": "GPU to GPU, read by the destination",
    "sm_write": "GPU to GPU, written by a kernel",
    "sm_read": "GPU to GPU, read by a kernel",
    "pair": "GPU to GPU, both directions at once",
    "staged": "GPU to GPU, peer access off",
}
_RATIO = "staged_over_direct"
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


def pair_of(cell: cells.Cell | None) -> tuple[str, int, int] | None:
    """(kind; source; destination) of a cell of one pair of GPUs; None for any other cell."""
    if cell is None or any(flow.kind != "peer" or flow.tasks > 1 for flow in cell.flows):
        return None
    first = cell.flows[0]
    if len(cell.flows) == 2 and cell.flows[1].gpus == first.gpus[::-1]:
        plain = not any(flow.options or flow.driver for flow in cell.flows)
        return ("pair", min(first.gpus), max(first.gpus)) if plain else None
    if not cell.lone or (first.staged and first.driver):
        return None
    way = "write" if first.driver is None else "read"
    return "staged" if first.staged else f"sm_{way}" if first.sm else way, first.gpus[0], first.gpus[1]


def peer_matrices(figures: list[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """One map for each kind that was measured or asked for. ``gpus`` are those the node has; cells may add to them."""
    rates = [f for f in figures if not f.is_ratio]
    return [m for m in (pair_map(rates, why, gpus, kind, title) for kind, title in _PAIRS.items()) if m]


def staged_ratios(figures: list[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """Staged over direct, where both were measured; elsewhere why one of the two was not."""
    ratios = [f for f in figures if f.derived == _RATIO]

    def nothing(a: int, b: int) -> Place:
        return why.of_ratio(_pair_cell("write", a, b), _pair_cell("staged", a, b))

    found = pair_map(ratios, CellGaps(), gpus, "staged", "Staged ÷ direct", nothing)
    return [found] if found else []


def pair_map(figures: list[Figure], why: CellGaps, gpus: list[int], kind: str, title: str,
             without: Callable[[int, int], Place] | None = None) -> Matrix | None:  # fmt: skip
    """GPU × GPU of one kind of cell; None where none was asked for.

    ``without`` says what stands at a pair without a figure (default: what ``why`` says of its cell).
    """

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        place = pair_of(cell)
        return place[1:] if place is not None and place[0] == kind else None

    def cell(a: int, b: int) -> cells.Cell:
        return _pair_cell(kind, a, b)

    def nothing(a: int, b: int) -> Place:
        if a == b:
            return Place(SELF, reason="a GPU and itself are no pair")
        if kind == "pair" and a > b:
            return Place(MIRROR, reason=f"both directions stand at GPU {b}, GPU {a}")
        return without(a, b) if without else why.place(cell(a, b))

    return cell_map(kind, title, figures, why, ends, cell, "gg", gpus, gpus, nothing)


def _pair_cell(kind: str, a: int, b: int) -> cells.Cell:
    flow = f"g{a}:g{b}"
    read = f"{flow}@g{b}"
    texts = {"write": flow, "read": read, "sm_write": f"{flow}/sm", "sm_read": f"{read}/sm",
             "pair": f"{flow}+g{b}:g{a}", "staged": f"{flow}/staged"}  # fmt: skip
    return cells.parse(texts[kind])
