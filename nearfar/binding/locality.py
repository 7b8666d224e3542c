"""Which CPUs, which memory and which NIC are near: answered from the node alone, never guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nearfar.base import NearfarError
from nearfar.topology import Gpu, Nic, Node, NumaNode, format_cpu_list, nic_class

#: Classes of the path between a GPU and a NIC, nearest first.
_NEAREST = ("PIX", "PXB", "PHB", "NODE", "SYS_on", "SYS_off")
#: Names that Linux gives to plain Ethernet interfaces; fabrics have others (mlx5_0, hfi1_0, cxi0, hsn0, ib0).
_ETHERNET = re.compile(r"(en|eth|em|wl|br|bond|docker|veth)[a-z0-9]*")


def cores_of(node: Node, numa: int) -> list[tuple[int, ...]]:
    """The cores of a NUMA node that may be used here: the allowed hardware threads of each, the core's first one first."""
    owner = node.numa_node(numa)
    allowed = set(owner.cpus if owner else ())
    if node.allowed_cpus is not None:
        allowed &= set(node.allowed_cpus)
    threads = {core[0]: core for core in node.cores}
    grouped = {cpu for core in node.cores for cpu in core}
    threads.update({cpu: (cpu,) for cpu in allowed if cpu not in grouped})
    usable = (tuple(cpu for cpu in threads[first] if cpu in allowed) for first in sorted(threads))
    return [core for core in usable if core]


def nearest(node: Node, numa: int, candidates: Iterable[NumaNode]) -> list[NumaNode]:
    """Other NUMA nodes by their way from ``numa``: the same package before others, then the ACPI distance, the number."""
    home = node.numa_node(numa)
    package = home.package if home else None

    def way(other: NumaNode) -> tuple[bool, int, int]:
        return other.package != package, node.distances.get((numa, other.index), 0), other.index

    return sorted(candidates, key=lambda other: (other.index != numa, *way(other)))


def cpu_nodes(node: Node, numa: int) -> tuple[int, ...]:
    """The NUMA node whose cores are nearest to ``numa``: itself unless it has no CPUs."""
    return tuple(n.index for n in nearest(node, numa, (n for n in node.numa_nodes if n.cpus))[:1])


def memory_of(node: Node, numa: int) -> int:
    """The host memory nearest to the cores of ``numa``: its own unless it has none. GPU memory is never host memory.

    Raises ``NearfarError`` where the cpuset forbids that memory.
    """
    memories = nearest(node, numa, node.host_numa_nodes)
    if not memories:
        raise NearfarError(f"{node.hostname} shows no host memory: its topology is not complete")
    index = memories[0].index
    if node.allowed_numa_nodes is not None and index not in node.allowed_numa_nodes:
        raise NearfarError(
            f"the cpuset forbids the memory of n{index}, which a rank on n{numa} needs "
            f"(allowed: {format_cpu_list(node.allowed_numa_nodes)}); ask for the whole node"
        )
    return index


def gpu_home(node: Node, gpu: Gpu) -> tuple[int, ...]:
    """The NUMA nodes whose cores may be near the GPU: one where the system says it, else all that it can be."""
    if gpu.numa_node is not None:
        return cpu_nodes(node, gpu.numa_node)
    if len(node.host_numa_nodes) == 1:
        return cpu_nodes(node, node.host_numa_nodes[0].index)
    with_cpus = [n for n in node.numa_nodes if n.cpus]
    inside = [n.index for n in with_cpus if gpu.package is not None and n.package == gpu.package]
    return tuple(inside or [n.index for n in with_cpus])


def nic_home(node: Node, nic: Nic) -> tuple[int, ...]:
    """The NUMA node whose cores are near the NIC. Raises ``NearfarError`` where the system does not say it."""
    if nic.numa_node is not None:
        return cpu_nodes(node, nic.numa_node)
    if len(node.host_numa_nodes) == 1:
        return cpu_nodes(node, node.host_numa_nodes[0].index)
    raise NearfarError(
        f"{node.hostname} does not report which NUMA node {nic.name} is attached to: place ranks near the GPU"
    )


def named_nic(node: Node, name: str) -> Nic:
    """The NIC of that name. Raises ``NearfarError`` with the names that there are."""
    nic = next((nic for nic in node.nics if nic.name == name), None)
    if nic is None:
        known = ", ".join(nic.name for nic in node.nics) or "none"
        raise NearfarError(f"{node.hostname} has no NIC {name}; it has: {known}")
    return nic


def fabric_nics(node: Node) -> tuple[Nic, ...]:
    """The NICs that MPI would use: those of a fabric, or all where the node has plain Ethernet alone."""
    return tuple(nic for nic in node.nics if not is_ethernet(nic.name)) or node.nics


def is_ethernet(name: str) -> bool:
    """Does Linux give such a name to a plain Ethernet interface?"""
    return _ETHERNET.fullmatch(name) is not None


def nearest_nics(node: Node, gpu: Gpu) -> list[Nic]:
    """The NICs with the shortest way to the GPU, all equally near; none where the system does not say how near."""
    nics = fabric_nics(node)
    if len(nics) == 1:
        return list(nics)
    ways = {nic.name: nic_class(node, gpu.index, nic.name) for nic in nics}
    best = next((way for way in _NEAREST if way in ways.values()), None)
    return [nic for nic in nics if ways[nic.name] == best]
