"""The standard sets of cells of a node: the host-device matrix and the STREAM matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.topology import Gpu, Node, NumaNode, host_class

from . import many_gpus
from .notation import Cell, Endpoint, Flow

#: Up to this many host NUMA nodes every pair is measured; above, one representative for each package and distance.
MAX_NUMA_NODES = 8


@dataclass(frozen=True)
class Skip:
    """A cell that is left out, and why. ``code`` is one of the measurement document's skip codes."""

    cell: Cell
    reason: str
    code: str


def host_device_matrix(node: Node) -> tuple[list[Cell], list[Skip]]:
    """For each GPU and each NUMA node of host memory: H2D, D2H and both at once; in the order of GPUs, then NUMA nodes.

    Memory that the cpuset does not allow is skipped as ``not_allowed``, a hidden GPU as ``denied``. NUMA nodes
    without an allowed CPU are driven from the nearest one that has some. With more than ``MAX_NUMA_NODES`` NUMA nodes
    each GPU is measured from the lowest-numbered one of each package, path class and distance; the others are
    ``representative``.
    """
    memories = [m for m in node.host_numa_nodes if memory_allowed(node, m)]
    cells: list[Cell] = []
    skips: list[Skip] = []
    for gpu in node.gpus:
        stands_for = _representatives(node, gpu, memories)
        for memory in node.host_numa_nodes:
            down, up = two_ways(node, memory, gpu)
            three = [Cell((down,)), Cell((up,)), Cell((down, up))]
            if not gpu.visible:
                skips += [hidden(cell, gpu) for cell in three]
            elif memory not in memories:
                skips += [Skip(cell, _not_allowed(memory), "not_allowed") for cell in three]
            elif stands_for[memory.index] != memory.index:
                reason = f"represented by n{stands_for[memory.index]}:g{gpu.index} (same package, class and distance)"
                skips += [Skip(cell, reason, "representative") for cell in three]
            else:
                cells += three
    return cells, skips


def host_device_cells(node: Node) -> tuple[list[Cell], list[Skip]]:
    """The host-device matrix; on a node with many GPUs both directions at once of each GPU with its own memory alone, and of the
    first GPU of each package with every memory. The others are ``representative``."""
    cells, skips = host_device_matrix(node)
    stands_for = many_gpus.represented(node, (cell for cell in cells if not cell.lone))
    left_out = [
        Skip(cell, f"represented by GPU {gpu}'s (same package)", "representative") for cell, gpu in stands_for.items()
    ]
    return [cell for cell in cells if cell not in stands_for], [*skips, *left_out]


def stream_matrix(node: Node) -> list[Cell]:
    """STREAM triad for the cores of each allowed NUMA node with the memory of each, then all with their own at once.

    With more than ``MAX_NUMA_NODES`` NUMA nodes, one representative pair for each pair of packages and distance.
    """
    cores = [n for n in node.numa_nodes if _allowed_cpus(node, n)]
    memories = [m for m in node.host_numa_nodes if memory_allowed(node, m)]
    pairs = [(c, m) for c in cores for m in memories]
    if len(memories) > MAX_NUMA_NODES:
        first: dict[object, tuple[NumaNode, NumaNode]] = {}
        for c, m in pairs:
            first.setdefault((c.package, m.package, c == m, node.distances.get((c.index, m.index))), (c, m))
        pairs = list(first.values())
    cells = [Cell((triad(c.index, m.index),)) for c, m in pairs]
    own = tuple(triad(m.index, m.index) for m in memories if m in cores)
    return [*cells, Cell(own)] if len(own) > 1 else cells


def stream_left_out(node: Node) -> list[Skip]:
    """The pairs of cores and memory that ``stream_matrix`` leaves out: the cpuset's, and those that another represents."""
    asked = set(stream_matrix(node))
    skips = []
    for cores in (n for n in node.numa_nodes if n.cpus):
        for memory in node.host_numa_nodes:
            cell = Cell((triad(cores.index, memory.index),))
            if not _allowed_cpus(node, cores):
                skips.append(Skip(cell, f"no CPU of NUMA node {cores.index} is allowed by the cpuset", "not_allowed"))
            elif not memory_allowed(node, memory):
                skips.append(Skip(cell, _not_allowed(memory), "not_allowed"))
            elif cell not in asked:
                reason = "represented by another pair of the same packages and distance"
                skips.append(Skip(cell, reason, "representative"))
    return skips


def _not_allowed(memory: NumaNode) -> str:
    return f"NUMA node {memory.index}'s memory is not allowed by the cpuset"


def two_ways(node: Node, memory: NumaNode, gpu: Gpu) -> tuple[Flow, Flow]:
    """The copies from a NUMA node's memory to a GPU and back, driven as ``driver_of`` says."""
    host, device, driver = Endpoint("n", memory.index), Endpoint("g", gpu.index), driver_of(node, memory)
    return Flow(host, device, driver), Flow(device, host, driver)


def memory_beside(node: Node, gpu: Gpu) -> NumaNode | None:
    """The host memory of the GPU's own NUMA node, where that is known and allowed, else the first that is allowed; None without any."""
    allowed = [memory for memory in node.host_numa_nodes if memory_allowed(node, memory)]
    return next((memory for memory in allowed if memory.index == gpu.numa_node), allowed[0] if allowed else None)


def triad(cores: int, memory: int) -> Flow:
    """STREAM triad by all cores of a NUMA node on the memory of one."""
    return Flow(Endpoint("c", cores), Endpoint("n", memory), kernel="triad")


def hidden(cell: Cell, gpu: Gpu) -> Skip:
    """The skip of a cell whose GPU the process does not see."""
    reason = f"GPU {gpu.index} is hidden from this process (CUDA_VISIBLE_DEVICES, or the cgroup)"
    return Skip(cell, reason, "denied")


def memory_allowed(node: Node, memory: NumaNode) -> bool:
    """Whether the cpuset of the process that looked permits this memory."""
    return node.allowed_numa_nodes is None or memory.index in node.allowed_numa_nodes


def _allowed_cpus(node: Node, numa: NumaNode) -> set[int]:
    return set(numa.cpus) if node.allowed_cpus is None else set(numa.cpus) & set(node.allowed_cpus)


def driver_of(node: Node, memory: NumaNode) -> Endpoint | None:
    """The NUMA node that drives flows of ``memory``: ``None`` for its own, else the nearest with allowed CPUs.

    Nearest by ACPI distance, then in the same package, then by number. A topology that shows no CPUs at all (cores
    taken out of a capture) leaves the default.
    """
    candidates = [n for n in node.numa_nodes if _allowed_cpus(node, n)]
    if memory in candidates or not candidates:
        return None

    def farness(numa: NumaNode) -> tuple[float, bool, int]:
        distance = node.distances.get((memory.index, numa.index), math.inf)
        return distance, numa.package != memory.package, numa.index

    return Endpoint("n", min(candidates, key=farness).index)


def _representatives(node: Node, gpu: Gpu, memories: Iterable[NumaNode]) -> dict[int, int]:
    """For each of the NUMA nodes the one that is measured in its place (itself, where there are few)."""
    memories = sorted(memories, key=lambda m: m.index)
    if len(memories) <= MAX_NUMA_NODES:
        return {m.index: m.index for m in memories}
    first: dict[object, int] = {}
    result = {}
    for m in memories:
        distance = None if gpu.numa_node is None else node.distances.get((gpu.numa_node, m.index))
        group = (m.package, host_class(node, m.index, gpu.index), distance)
        result[m.index] = first.setdefault(group, m.index)
    return result
