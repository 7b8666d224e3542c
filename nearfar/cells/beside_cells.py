"""The cells that copy and compute at once: a GPU's matrix products beside its copies, STREAM by cores beside copies of GPUs."""

from __future__ import annotations

from nearfar.topology import Gpu, Node, NumaNode

from .matrices import Skip, driver_of, hidden, memory_allowed
from .notation import Cell, Endpoint, Flow


def beside_products(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Of each GPU: matrix products beside a copy from host memory, and beside one to it. The memory is the GPU's own NUMA node's, where
    that is known and allowed, else the first that is."""
    cells: list[Cell] = []
    skips: list[Skip] = []
    for gpu in node.gpus:
        memory = _memory_of(node, gpu)
        if memory is None:
            continue
        computing = Flow(Endpoint("g", gpu.index), Endpoint("g", gpu.index), kernel="gemm")
        two = [Cell((copy, computing)) for copy in _copies(node, memory, gpu)]
        if gpu.visible:
            cells += two
        else:
            skips += [hidden(cell, gpu) for cell in two]
    return cells, skips


def beside_stream(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Of each NUMA node with cores and GPUs of its own (of the only one, any GPUs): STREAM triad by all its cores beside copies in both
    directions with all these GPUs. Hidden GPUs are left out."""
    cells = []
    for memory in node.host_numa_nodes:
        gpus = [gpu for gpu in node.gpus if gpu.visible and _memory_of(node, gpu) == memory]
        if memory.cpus and gpus:
            copies = [_copies(node, memory, gpu) for gpu in gpus]
            triad = Flow(Endpoint("c", memory.index), Endpoint("n", memory.index), kernel="triad")
            cells.append(Cell((*(down for down, _ in copies), *(up for _, up in copies), triad)))
    return cells, [hidden(Cell((_copies(node, node.host_numa_nodes[0], g)[0],)), g) for g in node.gpus if not g.visible]


def _memory_of(node: Node, gpu: Gpu) -> NumaNode | None:
    allowed = [memory for memory in node.host_numa_nodes if memory_allowed(node, memory)]
    return next((memory for memory in allowed if memory.index == gpu.numa_node), allowed[0] if allowed else None)


def _copies(node: Node, memory: NumaNode, gpu: Gpu) -> tuple[Flow, Flow]:
    host, device, driver = Endpoint("n", memory.index), Endpoint("g", gpu.index), driver_of(node, memory)
    return Flow(host, device, driver), Flow(device, host, driver)
