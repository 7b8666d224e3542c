"""The lone cells: those asked how their rate grows with size, how long the smallest takes, and those of a quick look."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.topology import Node

from .classes import flow_class
from .many_gpus import FEW_GPUS, first_of_each_package, has_many
from .matrices import Skip, host_device_matrix
from .notation import Cell
from .peers import peer_matrix, representatives


def size_sweep(node: Node) -> tuple[list[Cell], list[Skip]]:
    """H2D and D2H of the first visible GPU of each package with one memory of each path class, and one pair of GPUs of
    each class: curves differ by path, and a curve takes as long as several cells. With many GPUs (``FEW_GPUS``) of the first one
    alone."""
    hosts, skips = host_device_matrix(node)
    pairs, _ = peer_matrix(node)
    first = sorted(first_of_each_package(node).values())[: 1 if has_many(node) else None]
    chosen: dict[object, Cell] = {}
    for cell in hosts:
        flow = cell.flows[0]
        if cell.lone and flow.gpus[0] in first:
            chosen.setdefault((flow.gpus, flow.direction, flow_class(node, flow)), cell)
    for cell in pairs:
        if _plain_write(cell):
            chosen.setdefault(flow_class(node, cell.flows[0]), cell)
    return list(chosen.values()), [skip for skip in skips if skip.cell.lone and skip.code != "representative"]


def latency_cells(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Each NUMA node with each GPU, each ordered pair of GPUs: the cells of the matrices that are one H2D or a write.

    With many GPUs (``FEW_GPUS``) the first one of each package with every memory, and each GPU with the next one of each
    path class, one way; the others are ``representative``.
    """
    cells, skips = _of_matrices(node, lambda cell: _down(cell) or _plain_write(cell))
    if not has_many(node):
        return cells, skips
    first, pair_of = first_of_each_package(node), representatives(node, FEW_GPUS)

    def twin(cell: Cell) -> str | None:
        gpus = cell.flows[0].gpus
        if len(gpus) == 2:
            return None if gpus == pair_of[_pair(cell)] else _same_class(pair_of[_pair(cell)])
        gpu = node.gpu(gpus[0])
        who = first[gpu.package if gpu else None]
        return None if gpus == (who,) else f"GPU {who}'s (same package)"

    return _without_twins(cells, skips, twin)


def single_paths(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Each path one way at a time: H2D and D2H of each NUMA node with each GPU, each ordered pair of GPUs written and
    read directly."""
    return _of_matrices(node, lambda cell: cell.lone and not cell.flows[0].staged)


def tail_cells(node: Node) -> tuple[list[Cell], list[Skip]]:
    """The single paths; with many GPUs (``FEW_GPUS``) each one with the next one of each path class, both ways."""
    pair_of = representatives(node, FEW_GPUS)

    def twin(cell: Cell) -> str | None:
        pair = _pair(cell) if len(cell.flows[0].gpus) == 2 else None
        return None if pair is None or pair_of[pair] == pair else _same_class(pair_of[pair])

    return _without_twins(*single_paths(node), twin)


def _of_matrices(node: Node, wanted: Callable[[Cell], bool]) -> tuple[list[Cell], list[Skip]]:
    (hosts, left_out), (pairs, left_too) = host_device_matrix(node), peer_matrix(node)
    cells = [cell for cell in (*hosts, *pairs) if wanted(cell)]
    return cells, [skip for skip in (*left_out, *left_too) if wanted(skip.cell)]


def _without_twins(
    cells: list[Cell], skips: list[Skip], twin: Callable[[Cell], str | None]
) -> tuple[list[Cell], list[Skip]]:
    """Without the cells that ``twin`` names another one for, which are skipped as ``representative``."""
    twins = {cell: twin(cell) for cell in cells}
    more = [Skip(cell, f"represented by {who}", "representative") for cell, who in twins.items() if who is not None]
    return [cell for cell in cells if twins[cell] is None], skips + more


def _pair(cell: Cell) -> tuple[int, int]:
    a, b = cell.flows[0].gpus
    return min(a, b), max(a, b)


def _same_class(pair: tuple[int, int]) -> str:
    return "g{}:g{} (same path class)".format(*pair)


def _down(cell: Cell) -> bool:
    return cell.lone and cell.flows[0].direction == "h2d"


def _plain_write(cell: Cell) -> bool:
    flow = cell.flows[0]
    return cell.lone and flow.kind == "peer" and flow.driver is None and not flow.staged
