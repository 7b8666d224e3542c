"""The binding of every rank, as a document has it, against the placement that its figures stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.base import Finding, NearfarError
from nearfar.measurement import Document
from nearfar.topology import Node, NumaNode, parse_cpu_list

from .subjects import WITHIN, MpiCase, parse, relation


def findings(document: Document | None, node: Node) -> list[Finding]:
    """One for each case whose ranks were not where the case says, by the expected ``node``: its figures prove nothing."""
    if document is None:
        return []
    ranks: Mapping[str, Any] = (document.raw.get("mpi") or {}).get("ranks") or {}
    found = []
    for subject in dict.fromkeys(result.subject for result in document.results):
        try:
            wrong = _wrong(parse(subject), ranks.get(subject) or [], node)
        except NearfarError as error:
            wrong = str(error)
        if wrong is not None:
            found.append(Finding(f"{subject} binding", "INDETERMINATE", f"{subject}: {wrong}"))
    return found


def _wrong(case: MpiCase, ranks: Sequence[Mapping[str, Any]], node: Node) -> str | None:
    if len(ranks) != case.ranks:
        return f"the binding of {len(ranks)} of its {case.ranks} ranks was written down"
    homes = []
    for rank in ranks:
        cpus = set(parse_cpu_list(str(rank.get("cpus") or "")))
        home = next((numa for numa in node.numa_nodes if cpus and cpus <= set(numa.cpus)), None)
        if home is None:
            return f"rank {rank.get('rank')} ran on CPUs '{rank.get('cpus')}', which are of no one NUMA node"
        memory = rank.get("memory_nodes")
        if memory is not None and home.memory > 0 and memory != [home.index]:
            return f"rank {rank.get('rank')} ran on NUMA node {home.index} with its memory on {memory}"
        homes.append(home)
    return _not_within(case, homes) if case.placement in WITHIN else _not_beside(case, ranks, homes, node)


def _not_within(case: MpiCase, homes: Sequence[NumaNode]) -> str | None:
    first, second = homes[0], homes[-1]
    found = WITHIN[0] if first == second else WITHIN[1] if first.package == second.package else WITHIN[2]
    if found == case.placement and len({home.index for home in homes}) <= 2:
        return None
    return f"its ranks sat on NUMA nodes {', '.join(str(home.index) for home in homes)}"


def _not_beside(
    case: MpiCase, ranks: Sequence[Mapping[str, Any]], homes: Sequence[NumaNode], node: Node
) -> str | None:  # fmt: skip
    nic = next((each for each in node.nics if each.name == case.nic), None)
    for rank, home in zip(ranks, homes):
        gpu = node.gpu(int(rank["gpu"])) if rank.get("gpu") is not None else None
        device = nic or gpu
        if device is None:
            return f"rank {rank.get('rank')}: the device that it used is not known to the node's description"
        found = relation(node, home, device.numa_node)
        if found != case.placement:
            return f"rank {rank.get('rank')} sat on NUMA node {home.index}, {(found or 'unknown').replace('_', ' ')} to its device"
    return None
