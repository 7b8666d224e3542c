"""On which host, cores and memory each rank of a case runs, and which GPU it sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError
from nearfar.binding import Layout, Placement, pairs, place
from nearfar.topology import Gpu, Node

from .subjects import WITHIN, MpiCase, beside


@dataclass(frozen=True)
class Rank:
    """Where one rank is to run. ``host`` counts the job's nodes; ``gpu`` is the one GPU that it sees."""

    rank: int
    host: int
    cpus: tuple[int, ...]
    numa_node: int
    memory_nodes: tuple[int, ...]
    gpu: Gpu | None = None


def layout(node: Node, case: MpiCase) -> list[Rank]:
    """The place of every rank of a case, by rank; each has a core of its own.

    Raises ``NearfarError`` for fewer cores than ranks, a NUMA node that the cpuset hides, a placement, GPU or NIC that
    the node does not have.
    """
    hosts = 2 if case.nic is not None else 1
    if case.ranks % hosts:
        raise NearfarError(f"{case.ranks} ranks do not divide between two nodes")
    gpus = _gpus(node, case)
    here = case.ranks // hosts
    numa = _numa_nodes(node, case, gpus)[:here]
    placements = _placements(node, numa)
    return [
        Rank(host * here + i, host, placement.cpus, numa[i], placement.memory_nodes, gpus[i] if gpus else None)
        for host in range(hosts)
        for i, placement in enumerate(placements)
    ]


def _placements(node: Node, numa: Sequence[int]) -> list[Placement]:
    try:
        return place(node, Layout(numa_nodes=tuple(numa), threads_per_rank=1))
    except NearfarError as error:
        # Ranks of a benchmark never share cores.
        raise NearfarError(str(error).removesuffix(", or share cores with --oversubscribe")) from None


def _gpus(node: Node, case: MpiCase) -> list[Gpu]:
    """The GPU of each rank; empty with host buffers alone."""
    if not case.on_devices:
        return []
    named = list(case.gpus) or [gpu.index for gpu in node.gpus]
    gpus = []
    for index in named:
        gpu = node.gpu(index)
        if gpu is None or not gpu.visible:
            raise NearfarError(f"GPU {index} is {'absent' if gpu is None else 'hidden from this process'}")
        gpus.append(gpu)
    # A rank with its buffer in host memory still opens a device: the other rank's.
    return gpus * 2 if len(gpus) == 1 else gpus


def _numa_nodes(node: Node, case: MpiCase, gpus: list[Gpu]) -> list[int]:
    if gpus:
        if len(gpus) != case.ranks:
            raise NearfarError(f"{case.ranks} ranks and {len(gpus)} GPUs: one GPU a rank is needed")
        return [_beside(node, gpu.numa_node, case.placement, f"GPU {gpu.index}") for gpu in gpus]
    if case.nic is not None:
        nic = next((other for other in node.nics if other.name == case.nic.partition("-")[0]), None)
        if nic is None:
            raise NearfarError(f"NIC {case.nic} is absent")
        return [_beside(node, nic.numa_node, case.placement, case.nic)] * case.ranks
    if case.placement not in WITHIN:
        raise NearfarError(f"{case}: '{case.placement}' speaks of a device, and the case names none")
    # What the cpuset hides is named as hidden, not as a placement that the node does not have.
    pair = pairs(node).get(case.placement) or pairs(replace(node, allowed_cpus=None)).get(case.placement)
    if pair is None:
        raise NearfarError(f"this node has no two cores in the placement {case.placement.replace('_', ' ')}")
    first = case.ranks // 2
    return [pair[0]] * first + [pair[1]] * (case.ranks - first)


def _beside(node: Node, home: int | None, placement: str, device: str) -> int:
    numa = beside(node, home, placement)
    if numa is None:
        raise NearfarError(f"no NUMA node of this machine lies {placement.replace('_', ' ')} to {device}")
    return numa.index
