"""What Open MPI needs beyond a list of CPUs: slots of its rankfiles, and the ``--map-by`` form where one says the same."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.topology import Node

from .hwloc_numbers import logical_cpus
from .locality import cores_of
from .placement import Placement


def open_mpi_slots(node: Node, placements: Sequence[Placement]) -> tuple[list[str], list[str]]:
    """The rankfile's slots of each rank: by the operating system's numbers (4.x), and by hwloc's logical ones (5.x)."""
    logical = logical_cpus(node)
    slots = [",".join(map(str, p.cpus)) for p in placements]
    return slots, [",".join(str(number) for number in sorted(logical[cpu] for cpu in p.cpus)) for p in placements]


def map_by(node: Node, placements: Sequence[Placement]) -> tuple[str, str]:
    """``-n R --map-by ppr:K:numa:pe=T`` where it gives every rank the same cores, and else why there is none.

    It deals out whole cores, K ranks to each NUMA node that has CPUs, in hwloc's order of both.
    """
    owners = (next(numa.index for numa in node.numa_nodes if cpu in numa.cpus) for cpu in logical_cpus(node))
    order = list(dict.fromkeys(owners))
    widths = {len(p.cpus) for p in placements}
    by_node = {numa: [p for p in placements if p.numa_node == numa] for numa in order}
    counts = {numa: len(inside) for numa, inside in by_node.items()}
    if any(p.free for p in placements):
        return "", "it cannot leave one rank unbound"
    if any(p.numa_node is None or p.mpi_cpus != p.gpu_cpus for p in placements):
        return "", "it cannot spread a rank over NUMA nodes"
    if len(widths) > 1:
        return "", "the ranks have different numbers of cores"
    if any(p.shared for p in placements):
        return "", "ranks share cores"
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} on n{numa}" for numa, count in counts.items())
        return "", f"it deals out as many ranks to each NUMA node, and here are {listed}"
    width = widths.pop()
    dealt = []
    for numa in order:
        cores = sorted(cores_of(node, numa))
        dealt += [tuple(core[0] for core in cores[i * width : (i + 1) * width]) for i in range(counts[numa])]
    if dealt != [p.cpus for p in placements]:
        return "", "it deals out the ranks in another order"
    return f"-n {len(placements)} --map-by ppr:{counts[order[0]]}:numa:pe={width}", ""
