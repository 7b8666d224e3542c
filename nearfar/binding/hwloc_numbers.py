"""hwloc's logical numbers of hardware threads: what Open MPI 5 counts by, where everything else counts as Linux does."""

from __future__ import annotations

from nearfar.topology import Node

from .locality import cores_of


def logical_cpus(node: Node) -> dict[int, int]:
    """The operating system's number of each allowed CPU -> its logical number.

    hwloc counts in the order of its tree, where each level is sorted by its lowest CPU: packages, their NUMA nodes,
    cores, hardware threads. (hwloc documentation, "Terms and definitions": logical index.)
    """
    order = []
    for numa in node.numa_nodes:
        cores = cores_of(node, numa.index)
        if cores:
            package = next((p for p in node.packages if p.index == numa.package), None)
            lowest = min(package.cpus) if package and package.cpus else numa.cpus[0]
            order.append((lowest, numa.cpus[0], sorted(cores)))
    counted = [cpu for _, _, cores in sorted(order) for core in cores for cpu in core]
    return {cpu: logical for logical, cpu in enumerate(counted)}
