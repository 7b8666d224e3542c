"""Is this the node that the site's file describes? GPUs, NUMA nodes, NICs, and links under load."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar import cells
from nearfar.cells import Cell, Skip
from nearfar.topology import Node, host_class

from .question import ACCEPT, NIGHTLY, Question, no_figures

#: The classes of a path to load a GPU's link by, best first.
_BEST = ("near", "sole", "on_socket", "unknown", "off_socket")


def one_for_each_gpu(node: Node) -> tuple[list[Cell], list[Skip]]:
    """One short cell for each GPU, so that its link is not asleep."""
    possible, left_out = cells.host_device_matrix(node)
    return loading_cells(node, possible), unloaded(possible, left_out)


def loading_cells(node: Node, matrix: Sequence[Cell]) -> list[Cell]:
    """One lone host-to-device cell for each GPU of the matrix, from the nearest memory there is."""
    chosen: dict[int, tuple[int, Cell]] = {}
    for cell in matrix:
        flow = cell.flows[0]
        if not cell.lone or flow.direction != "h2d" or flow.numa_node is None:
            continue
        gpu = flow.gpus[0]
        rank = _BEST.index(host_class(node, flow.numa_node, gpu))
        if gpu not in chosen or rank < chosen[gpu][0]:
            chosen[gpu] = (rank, cell)
    return [cell for _, cell in chosen.values()]


def unloaded(matrix: Sequence[Cell], left_out: Sequence[Skip]) -> list[Skip]:
    """One skipped cell for each GPU that no cell of the matrix can load, so that its link is never called good."""
    loaded = {cell.flows[0].gpus[0] for cell in matrix}
    first: dict[int, Skip] = {}
    for skip in left_out:
        first.setdefault(skip.cell.flows[0].gpus[0], skip)
    return [skip for gpu, skip in first.items() if gpu not in loaded]


QUESTION = Question(
    name="topology_check",
    title="Topology",
    description="the node against the site's file",
    program="nearfar-copy",
    cells=one_for_each_gpu,
    levels=(NIGHTLY, ACCEPT),
    options=("--rounds", "1"),
    counts_gpus=True,
    # It loads the links and measures nothing.
    figures=no_figures,
    maps=False,
    quick_kit=True,
    covers_health=True,
)
