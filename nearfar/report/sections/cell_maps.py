"""Maps of a check's cells: GPU × NUMA node, cores × memory, GPU × kernel, and GPU × GPU, from that of the row to that of the column."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from nearfar import cells
from nearfar.base import NOT_JUDGED
from nearfar.report.blocks import Text
from nearfar.report.charts import OVER, CellGaps, Matrix, cell_map
from nearfar.report.figures import SIGNS, Figure

#: The cell at a row and a column of each map of GPUs and NUMA nodes, and its title.
_HOST = {
    "h2d": ("n{column}:g{row}", "Host to device"),
    "d2h": ("g{row}:n{column}", "Device to host"),
    "both": ("n{column}:g{row}+g{row}:n{column}", "Both directions at once"),
}
#: The same of pairs of GPUs.
_PAIRS = {
    "write": ("g{row}:g{column}", "GPU to GPU, written by the source"),
    "read": ("g{row}:g{column}@g{column}", "GPU to GPU, read by the destination"),
    "sm_write": ("g{row}:g{column}/sm", "GPU to GPU, written by a kernel"),
    "sm_read": ("g{row}:g{column}@g{column}/sm", "GPU to GPU, read by a kernel"),
    "pair": ("g{row}:g{column}+g{column}:g{row}", "GPU to GPU, both directions at once"),
    "staged": ("g{row}:g{column}/staged", "GPU to GPU, peer access off"),
}
_LATENCIES = {
    "latency_copy": "Tiny copy, from its enqueueing to its completion",
    "latency_chase": "Load by a kernel, each address from the last",
    "latency_launch": "Launch of an empty kernel",
}
_SHARES = {"one": "one core", "half": "half of them", "butone": "all but one"}


def maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int], rates: bool) -> list[Matrix]:
    """Maps of latencies; where there are none, of ``rates``. ``numa`` and ``gpus`` are those the node has; cells may add to them."""
    times = _latency_maps(figures, why, numa, gpus)
    if times or not rates:
        return times
    own = [f for f in figures if not f.is_ratio or f.derived in OVER]
    copies = [f for f in own if f.quantity == "copy" or f.derived in OVER]
    shares = ("cores", "c{row}:n{row}/triad/{column}", "STREAM triad by number of cores")
    return [
        *(m for key, at in _HOST.items() for m in cell_map(key, *at, copies, why, "gn", gpus, numa)),
        *(m for kernel in cells.KERNELS for m in _stream_map(figures, why, numa, kernel)),
        *cell_map(*shares, figures, why, "cs", names=_SHARES),
        *memory_matrices(own, why, gpus),
        *(m for key, at in _PAIRS.items() for m in cell_map(key, *at, own, why, "gg", gpus, gpus)),
    ]


def legend(modelled: bool) -> Text:
    """What tints and signs of maps mean."""
    ramp = Markup('<span class="ramp"></span>')
    tint = "as its like to 10 % worse: the median of its class on the map, of a class of one or two its reference"
    signs = {
        "PASS": "as expected", "DEGRADED": "DEGRADED", "FAIL": "FAIL", "INDETERMINATE": "could not be judged", NOT_JUDGED: "no reference",
        **({"MODELLED": "MODELLED; hatched, ≤: only an upper bound is known"} if modelled else {}),
    }  # fmt: skip
    words = " · ".join(f"{SIGNS[word]} {meaning}" for word, meaning in signs.items())
    return Text((ramp + f" {tint} · {words}",), "legend tints", plain=True)


def _latency_maps(figures: list[Figure], why: CellGaps, numa: list[int], gpus: list[int]) -> list[Matrix]:
    """Each latency as GPU × NUMA node and GPU × GPU; a launch is the same for all paths of a GPU, and has one map."""
    found: list[Matrix] = []
    for what, title in _LATENCIES.items():
        if mine := [f for f in figures if f.derived == what]:
            found += cell_map("h2d", _HOST["h2d"][0], f"{title}: host memory", mine, why, "gn", gpus, numa)
            pairs = cell_map("write", _PAIRS["write"][0], f"{title}: GPU to GPU", mine, why, "gg", gpus, gpus)
            found += pairs if what != "latency_launch" else []
    return found


def _stream_map(figures: list[Figure], why: CellGaps, numa: list[int], kernel: str) -> list[Matrix]:
    """All cores of NUMA node a × memory of NUMA node b; the sum cell of all nodes stands beside it."""

    def of_kernel(flow: cells.Flow) -> bool:
        return flow.kind == "stream" and flow.cores is None and flow.direction == kernel

    sums = [f for f in figures if f.cell is not None and not f.cell.lone and all(map(of_kernel, f.cell.flows))]
    at = "c{row}:n{column}/" + kernel
    return cell_map(kernel, at, f"STREAM {kernel}", figures, why, "cn", columns=numa, together=sums)


def memory_matrices(figures: Iterable[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """GPU × kernel on its own memory, and all GPUs at once beside it."""
    figures = list(figures)
    totals = ((f, f.cell.flows) for f in figures if f.is_total and f.cell is not None)
    sums = [f for f, flows in totals if all(w.kind == "gpu_stream" and w.source == w.destination for w in flows)]
    names = {kernel: kernel for kernel in (*cells.KERNELS, *cells.GPU_KERNELS)}
    at, title = "g{row}:g{row}/{column}", "Each GPU on its own memory"
    return cell_map("memory", at, title, figures, why, "gk", gpus, names=names, together=sums)
