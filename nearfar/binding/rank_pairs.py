"""Two ranks of one node in every relation that its NUMA nodes allow: what a latency between ranks is compared over."""

from __future__ import annotations

from nearfar.topology import Node

from .locality import cores_of

#: The relations, nearest first.
RELATIONS = ("same_numa_node", "same_package", "across_packages")


def pairs(node: Node) -> dict[str, tuple[int, int]]:
    """Relation -> the NUMA nodes of two ranks, for ``Layout(numa_nodes=…)``; the first pair that is found.

    A relation that is not in it does not exist on this node: ``same_numa_node`` takes two usable cores on one NUMA
    node, ``same_package`` two NUMA nodes of one package, ``across_packages`` two packages.
    """
    usable = {n.index: n.package for n in node.numa_nodes if cores_of(node, n.index)}
    by_relation = {}
    twice = next((index for index in usable if len(cores_of(node, index)) > 1), None)
    if twice is not None:
        by_relation["same_numa_node"] = (twice, twice)
    for numa, package in usable.items():
        for other, elsewhere in usable.items():
            if numa < other and package is not None and elsewhere is not None:
                by_relation.setdefault("same_package" if package == elsewhere else "across_packages", (numa, other))
    return {relation: by_relation[relation] for relation in RELATIONS if relation in by_relation}
