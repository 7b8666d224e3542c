"""The cells that copy and compute at once: a GPU's matrix products beside its copies, STREAM by cores beside copies of GPUs."""

from __future__ import annotations

from nearfar.topology import Node

from .matrices import Skip, hidden, memory_beside, triad, two_ways
from .memory_cells import on_own_memory
from .notation import Cell


def beside_products(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Of each GPU: matrix products beside a copy from host memory, and beside one to it. The memory is the GPU's own NUMA node's, where
    that is known and allowed, else the first that is."""
    cells: list[Cell] = []
    skips: list[Skip] = []
    for gpu in node.gpus:
        memory = memory_beside(node, gpu)
        if memory is None:
            continue
        two = [Cell((copy, on_own_memory(gpu.index, "gemm"))) for copy in two_ways(node, memory, gpu)]
        if gpu.visible:
            cells += two
        else:
            skips += [hidden(cell, gpu) for cell in two]
    return cells, skips


def beside_stream(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Of each NUMA node with cores and GPUs of its own (of the only one, any GPUs): STREAM triad by all its cores beside copies in both
    directions with all these GPUs. Hidden GPUs are left out."""
    cells: list[Cell] = []
    for memory in node.host_numa_nodes:
        gpus = [gpu for gpu in node.gpus if gpu.visible and memory_beside(node, gpu) == memory]
        if memory.cpus and gpus:
            copies = [two_ways(node, memory, gpu) for gpu in gpus]
            cells.append(
                Cell((*(down for down, _ in copies), *(up for _, up in copies), triad(memory.index, memory.index)))
            )
    beside = ((gpu, memory_beside(node, gpu)) for gpu in node.gpus if not gpu.visible)
    return cells, [hidden(Cell((two_ways(node, memory, gpu)[0],)), gpu) for gpu, memory in beside if memory is not None]
