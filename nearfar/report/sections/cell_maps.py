"""Maps of a check's cells: GPU × NUMA node, cores × memory, GPU × kernel, and GPU × GPU, from that of the row to that of the column."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nearfar import cells
from nearfar.report.charts import MIRROR, NEAR, SELF, CellGaps, Matrix, Place, cell_map, load_place
from nearfar.report.figures import Figure

_LOADS = {"h2d": "Host to device", "d2h": "Device to host", "both": "Both directions at once"}
_LATENCIES = {
    "latency_copy": "Tiny copy, from its enqueueing to its completion",
    "latency_chase": "Load by a kernel, each address from the last",
    "latency_launch": "Launch of an empty kernel",
}
#: What is asked of a pair of GPUs, and the title of its map.
_PAIRS = {
    "write": "GPU to GPU, written by the source",
    "read": "GPU to GPU, read by the destination",
    "sm_write": "GPU to GPU, written by a kernel",
    "sm_read": "GPU to GPU, read by a kernel",
    "pair": "GPU to GPU, both directions at once",
    "staged": "GPU to GPU, peer access off",
}
#: The columns of two maps.
_KERNELS = (*cells.KERNELS, *cells.GPU_KERNELS)
_SHARES = {"one": "one core", "half": "half of them", "butone": "all but one"}


def maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int], rates: bool) -> list[Matrix]:
    """Maps of latencies; where there are none, of ``rates``. ``numa`` and ``gpus`` are those the node has; cells may add to them."""
    times = _latency_maps(figures, why, numa, gpus)
    if times or not rates:
        return times
    own = [f for f in figures if not f.is_ratio]
    copies = [f for f in own if f.quantity == "copy"]
    return [
        *(m for load, title in _LOADS.items() for m in _host_map(copies, why, numa, gpus, load, title)),
        *_stream_maps(figures, why, numa),
        *_core_share_map(figures, why),
        *memory_matrices(own, why, gpus),
        *(m for kind, title in _PAIRS.items() for m in _pair_map(own, why, gpus, kind, title)),
    ]


def ratio_maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int]) -> list[Matrix]:
    """Far over near for each GPU and far NUMA node: H2D, D2H, and both at once; staged over direct, where both were measured. Elsewhere
    why one of the two was not."""
    near = {f.cell for f in figures if f.class_in_name == "near" and f.cell is not None}

    def beside_near(cell: cells.Cell) -> Place:
        if cell in near:
            return Place(NEAR, reason="its own near path: 1 by definition")
        place = load_place(cell) or ()
        return why.of_ratio(cell, *(c for c in why.by_cell if (load_place(c) or ())[:2] == place[:2]))

    def beside_direct(a: int, b: int) -> Place:
        return why.of_ratio(_pair_cell("write", a, b), _pair_cell("staged", a, b))

    far, known = [f for f in figures if f.derived == "over_near"], CellGaps()
    titles = {load: f"{title}, far ÷ near" for load, title in _LOADS.items()}
    staged = [f for f in figures if f.derived == "staged_over_direct"]
    return [
        *(m for load, title in titles.items() for m in _host_map(far, known, numa, gpus, load, title, beside_near)),
        *_pair_map(staged, known, gpus, "staged", "Staged ÷ direct", beside_direct),
    ]


def _host_map(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int], load: str, title: str,
              nothing: Callable[[cells.Cell], Place] | None = None) -> list[Matrix]:  # fmt: skip
    """GPU × NUMA node of one load (``h2d``, ``d2h``, ``both``)."""

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        place = load_place(cell)
        return (place[1], place[2]) if place is not None and place[0] == load else None

    def cell(gpu: int, node: int) -> cells.Cell:
        there, back = f"n{node}:g{gpu}", f"g{gpu}:n{node}"
        return cells.parse({"h2d": there, "d2h": back, "both": f"{there}+{back}"}[load])

    without = None if nothing is None else lambda gpu, node: nothing(cell(gpu, node))
    return cell_map(load, title, figures, why, ends, cell, "gn", gpus, numa, without)


def _latency_maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int]) -> list[Matrix]:
    """Each latency as GPU × NUMA node and GPU × GPU; a launch is the same for all paths of a GPU, and has one map."""
    found: list[Matrix] = []
    for what, title in _LATENCIES.items():
        if mine := [f for f in figures if f.derived == what]:
            found += _host_map(mine, why, numa, gpus, "h2d", f"{title}: host memory")
            found += _pair_map(mine, why, gpus, "write", f"{title}: GPU to GPU") if what != "latency_launch" else []
    return found


def _stream_maps(figures: list[Figure], why: CellGaps, numa: list[int]) -> list[Matrix]:
    """All cores of NUMA node a × memory of NUMA node b, one map a kernel; the sum cell of all nodes stands beside it."""

    def of_kernel(cell: cells.Cell, kernel: str) -> bool:
        return all(f.kind == "stream" and f.cores is None and f.direction == kernel for f in cell.flows)

    found: list[Matrix] = []
    for kernel in cells.KERNELS:

        def ends(cell: cells.Cell, kernel: str = kernel) -> tuple[int, int] | None:
            first = cell.flows[0]
            return (first.source.index, first.destination.index) if cell.lone and of_kernel(cell, kernel) else None

        def cell(a: int, b: int, kernel: str = kernel) -> cells.Cell:
            return cells.parse(f"c{a}:n{b}/{kernel}")

        sums = [f for f in figures if f.cell is not None and not f.cell.lone and of_kernel(f.cell, kernel)]
        found += cell_map(kernel, f"STREAM {kernel}", figures, why, ends, cell, "cn", columns=numa, together=sums)
    return found


def _core_share_map(figures: list[Figure], why: CellGaps) -> list[Matrix]:
    """NUMA node × number of its cores: triad on the node's own memory."""

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        flow = cell.flows[0]
        share = cell.lone and flow.kind == "stream" and flow.cores in shares
        return (flow.source.index, shares.index(str(flow.cores))) if share else None

    def cell(numa: int, share: int) -> cells.Cell:
        return cells.parse(f"c{numa}:n{numa}/triad/{shares[share]}")

    shares, names = list(_SHARES), list(_SHARES.values())
    return cell_map("cores", "STREAM triad by number of cores", figures, why, ends, cell, "cs", names=names)


def memory_matrices(figures: Iterable[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """GPU × kernel on its own memory, and all GPUs at once beside it."""

    def own(cell: cells.Cell) -> bool:
        return all(flow.kind == "gpu_stream" and flow.source == flow.destination for flow in cell.flows)

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        flow = cell.flows[0]
        return (flow.gpus[0], _KERNELS.index(flow.direction)) if cell.lone and own(cell) else None

    def cell(gpu: int, kernel: int) -> cells.Cell:
        return cells.parse(f"g{gpu}:g{gpu}/{_KERNELS[kernel]}")

    sums = [f for f in figures if f.is_total and f.cell is not None and own(f.cell)]
    title = "Each GPU on its own memory"
    return cell_map("memory", title, figures, why, ends, cell, "gk", gpus, together=sums, names=_KERNELS)


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


def _pair_map(figures: list[Figure], why: CellGaps, gpus: list[int], kind: str, title: str,
              without: Callable[[int, int], Place] | None = None) -> list[Matrix]:  # fmt: skip
    """GPU × GPU of one kind of cell."""

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        place = pair_of(cell)
        return place[1:] if place is not None and place[0] == kind else None

    def cell(a: int, b: int) -> cells.Cell:
        return _pair_cell(kind, a, b)

    def nothing(a: int, b: int) -> Place:
        if a == b:
            return Place(SELF, reason="a GPU and itself are not a pair")
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
