"""Pinning schemes: the NUMA node of each rank as people write it, and what was published of one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nearfar.base import NearfarError
from nearfar.model.prediction import NodeType
from nearfar.topology import parse_cpu_list

from .placement import Placement

#: A rank that is bound to nothing.
FREE = "free"
_SCHEME = re.compile(rf"(\d+|{FREE})(-(\d+|{FREE}))*")
_ASCENDING = re.compile(r"(\d+)-(\d+)")


def scheme_nodes(text: str) -> tuple[int | None, ...] | None:
    """The NUMA node of each rank of a scheme such as ``0-1-free`` (None: free); None for a text that is no scheme."""
    if not _SCHEME.fullmatch(text):
        return None
    return tuple(None if word == FREE else int(word) for word in text.split("-"))


def parse_numa_nodes(text: str) -> tuple[int | None, ...]:
    """The NUMA node of each rank, in the ranks' order; None for one that is free.

    ``0,0,1`` and the scheme ``0-0-1`` are the same, as are ``0,1,free`` and ``0-1-free``. Two numbers that ascend are a range, as
    everywhere: ``0-3`` is ``0,1,2,3``. Raises ``NearfarError``.
    """
    numa_nodes: list[int | None] = []
    for part in text.split(","):
        pair = _ASCENDING.fullmatch(part)
        if pair and int(pair[1]) < int(pair[2]):
            numa_nodes += parse_cpu_list(part)
        elif nodes := scheme_nodes(part):
            numa_nodes += nodes
        else:
            raise NearfarError(
                f"--numa-nodes {text}: expected numbers and ranges, such as 0,1 or 0-3, or a scheme such as 0-1-1 or 0-1-{FREE}"
            )
    return tuple(numa_nodes)


def scheme_of(placements: Sequence[Placement]) -> str | None:
    """``0-1-free``: the NUMA node of each rank; None where a rank is bound to the cores of several."""
    if any((p.numa_node is None and not p.free) or p.mpi_cpus != p.gpu_cpus for p in placements):
        return None
    return "-".join(FREE if p.free else str(p.numa_node) for p in placements)


def evidence(node_type: NodeType, placements: Sequence[Placement]) -> list[str]:
    """What was measured of this scheme and published of the node type, a sentence each: for it or against it."""
    scheme = scheme_of(placements)
    sentences = []
    for published in node_type.published.get("schemes", ()):
        best_first: list[str] = published["best_first"]
        if scheme not in best_first:
            continue
        best, worst = scheme == best_first[0], scheme == best_first[-1]
        others = " and ".join(name for name in best_first if name != scheme)
        rank = "the best" if best else "the worst" if worst else "neither best nor worst"
        result = f"{published['what']} ({published['place']}): {scheme} was {rank} beside {others}; {published['difference']}."
        side = "for this" if best else "against this"
        sentences.append(f"Published evidence is {side}: {result}" + (f" {published['why']}." if worst else ""))
    return sentences
