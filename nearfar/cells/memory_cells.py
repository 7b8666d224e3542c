"""The cells of memories: STREAM of GPUs on their own memory, every kernel of cores and of GPUs, numbers of cores."""

from __future__ import annotations

from dataclasses import replace

from nearfar.topology import Node, NumaNode

from .matrices import Skip, hidden, memory_allowed, memory_beside, two_ways
from .notation import CORE_SHARES, GPU_KERNELS, KERNELS, Cell, Endpoint, Flow


def gpu_memory(node: Node) -> tuple[list[Cell], list[Skip]]:
    """STREAM triad of each GPU on its own memory, then of all of them at once."""
    cells = [Cell((on_own_memory(gpu.index, "triad"),)) for gpu in node.gpus if gpu.visible]
    skips = [hidden(Cell((on_own_memory(gpu.index, "triad"),)), gpu) for gpu in node.gpus if not gpu.visible]
    together = Cell(tuple(cell.flows[0] for cell in cells))
    return ([*cells, together] if len(cells) > 1 else cells), skips


def memory_kernels(node: Node) -> tuple[list[Cell], list[Skip]]:
    """What the triad of all cores and all GPUs leaves open: the other kernels on each memory of its own and on all NUMA nodes' at once,
    triad by one core, half and all but one of each NUMA node with several (each number of cores once), every kernel by all but one and two
    of each at once, and triad of the first GPU on each host memory and on the next GPU's."""
    numa = [n for n in node.host_numa_nodes if memory_allowed(node, n) and n.cpus]
    gpus = [gpu for gpu in node.gpus if gpu.visible]
    cells = []
    for memory in numa:
        cells += [_by_cores(memory.index, kernel) for kernel in KERNELS if kernel != "triad"]
        cells += [_by_cores(memory.index, "triad", share) for share in _shares(_cores(node, memory))]
    if len(numa) > 1:
        cells += [
            Cell(tuple(_by_cores(n.index, kernel).flows[0] for n in numa)) for kernel in KERNELS if kernel != "triad"
        ]
        few = [share for share, least in (("butone", 2), ("buttwo", 3)) if all(_cores(node, n) >= least for n in numa)]
        cells += [
            Cell(tuple(_by_cores(n.index, kernel, share).flows[0] for n in numa)) for share in few for kernel in KERNELS
        ]
    for gpu in gpus:
        cells += [Cell((on_own_memory(gpu.index, kernel),)) for kernel in (*KERNELS, *GPU_KERNELS) if kernel != "triad"]
    for gpu in gpus[:1]:
        elsewhere = [*(Endpoint("n", n.index) for n in numa), *(Endpoint("g", peer.index) for peer in gpus[1:2])]
        cells += [Cell((Flow(Endpoint("g", gpu.index), memory, kernel="triad"),)) for memory in elsewhere]
    skips = [hidden(Cell((on_own_memory(gpu.index, "copy"),)), gpu) for gpu in node.gpus if not gpu.visible]
    return cells, skips


def one_pageable(node: Node) -> list[Cell]:
    """A copy of pageable memory to the first GPU that is seen, from its own NUMA node where that is known; none without either."""
    gpu = next((gpu for gpu in node.gpus if gpu.visible), None)
    memory = None if gpu is None else memory_beside(node, gpu)
    if gpu is None or memory is None:
        return []
    return [Cell((replace(two_ways(node, memory, gpu)[0], pageable=True),))]


def _shares(cores: int) -> list[str]:
    """The parts of so many cores: of two each part is one core, and of three half of them are."""
    if cores < 2:
        return []
    running = dict(zip((1, cores // 2, cores - 1)[::-1], ("one", "half", "butone")[::-1]))
    return [share for share in CORE_SHARES if share in running.values()]


def _cores(node: Node, numa: NumaNode) -> int:
    """How many cores of a NUMA node this process may use, however many threads each has."""
    allowed = set(numa.cpus) if node.allowed_cpus is None else set(numa.cpus) & set(node.allowed_cpus)
    core_of = {cpu: core[0] for core in node.cores for cpu in core}
    return len({core_of.get(cpu, cpu) for cpu in allowed})


def on_own_memory(gpu: int, kernel: str) -> Flow:
    """What a GPU computes, a kernel of STREAM or matrix products, in its own memory."""
    return Flow(Endpoint("g", gpu), Endpoint("g", gpu), kernel=kernel)


def _by_cores(numa: int, kernel: str, share: str | None = None) -> Cell:
    return Cell((Flow(Endpoint("c", numa), Endpoint("n", numa), kernel=kernel, cores=share),))
