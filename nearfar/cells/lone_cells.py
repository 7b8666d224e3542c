"""The lone cells: those asked how their rate grows with size, how long the smallest takes, and those of a quick look."""

from __future__ import annotations

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

    With many GPUs (``FEW_GPUS``) the first one of each package with every memory, and each GPU with the next one of each path
    class, one way; the others are ``representative``.
    """
    (hosts, left_out), (pairs, left_too) = host_device_matrix(node), peer_matrix(node)
    cells = [cell for cell in hosts if _down(cell)] + [cell for cell in pairs if _plain_write(cell)]
    skips = [s for s in (*left_out, *left_too) if _down(s.cell) or _plain_write(s.cell)]
    if not has_many(node):
        return cells, skips
    first, pair_of = first_of_each_package(node), representatives(node, FEW_GPUS)
    kept = []
    for cell in cells:
        gpus = cell.flows[0].gpus
        stands_for: tuple[int, ...]
        if len(gpus) == 1:
            gpu = node.gpu(gpus[0])
            who = first[gpu.package if gpu else None]
            stands_for, twin = (who,), f"GPU {who}'s (same package)"
        else:
            stands_for = pair_of[min(gpus), max(gpus)]
            twin = "g{}:g{} (same path class)".format(*stands_for)
        if stands_for == gpus:
            kept.append(cell)
        else:
            skips.append(Skip(cell, f"represented by {twin}", "representative"))
    return kept, skips


def single_paths(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Each path one way at a time: H2D and D2H of each NUMA node with each GPU, each ordered pair of GPUs written and
    read directly."""
    (hosts, left_out), (pairs, left_too) = host_device_matrix(node), peer_matrix(node)
    cells = [cell for cell in (*hosts, *pairs) if _direct(cell)]
    return cells, [skip for skip in (*left_out, *left_too) if _direct(skip.cell)]


def _direct(cell: Cell) -> bool:
    return cell.lone and not cell.flows[0].staged


def _down(cell: Cell) -> bool:
    return cell.lone and cell.flows[0].direction == "h2d"


def _plain_write(cell: Cell) -> bool:
    flow = cell.flows[0]
    return cell.lone and flow.kind == "peer" and flow.driver is None and not flow.staged
