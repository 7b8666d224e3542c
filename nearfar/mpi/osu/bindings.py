"""The binding of every rank, as a document has it, against the placement that its figures stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.base import Finding, NearfarError
from nearfar.measurement import Document
from nearfar.mpi import messages
from nearfar.topology import Node, NumaNode, parse_cpu_list

from .subjects import WITHIN, MpiCase, parse, relation


def findings(document: Document | None, node: Node) -> list[Finding]:
    """One for each case whose ranks were not where the case says, by the expected ``node``: its figures prove nothing."""
    if document is None:
        return []
    ranks: Mapping[str, Any] = (document.raw.get("mpi") or {}).get("ranks") or {}
    possible = []
    for subject in dict.fromkeys(result.subject for result in document.results):
        item = f"{subject} binding"
        try:
            possible.append(_wrong(item, parse(subject), ranks.get(subject) or [], node))
        except NearfarError as error:
            possible.append(messages.UNKNOWN_CASE.finding(item, error=str(error)))
    return [finding for finding in possible if finding]


def _wrong(item: str, case: MpiCase, ranks: Sequence[Mapping[str, Any]], node: Node) -> Finding | None:
    if len(ranks) != case.ranks:
        return messages.BINDING_LOST.finding(item, recorded=len(ranks), ranks=case.ranks)
    homes = []
    for rank in ranks:
        cpus = set(parse_cpu_list(str(rank.get("cpus") or "")))
        home = next((numa for numa in node.numa_nodes if cpus and cpus <= set(numa.cpus)), None)
        if home is None:
            return messages.NO_NUMA_NODE.finding(item, rank=rank.get("rank"), cpus=rank.get("cpus"))
        memory = rank.get("memory_nodes")
        if memory is not None and home.memory > 0 and memory != [home.index]:
            return messages.OTHER_MEMORY.finding(item, rank=rank.get("rank"), numa_node=home.index, memory=memory)
        homes.append(home)
    return _not_within(item, case, homes) if case.placement in WITHIN else _not_beside(item, case, ranks, homes, node)


def _not_within(item: str, case: MpiCase, homes: Sequence[NumaNode]) -> Finding | None:
    first, second = homes[0], homes[-1]
    placement = WITHIN[0] if first == second else WITHIN[1] if first.package == second.package else WITHIN[2]
    if placement == case.placement and len({home.index for home in homes}) <= 2:
        return None
    return messages.OTHER_NUMA_NODES.finding(item, numa_nodes=[home.index for home in homes])


def _not_beside(
    item: str, case: MpiCase, ranks: Sequence[Mapping[str, Any]], homes: Sequence[NumaNode], node: Node
) -> Finding | None:
    nic = next((other for other in node.nics if other.name == (case.nic or "").partition("-")[0]), None)
    for rank, home in zip(ranks, homes):
        gpu = node.gpu(int(rank["gpu"])) if rank.get("gpu") is not None else None
        device = gpu or nic
        if device is None:
            return messages.UNKNOWN_DEVICE.finding(item, rank=rank.get("rank"))
        placement = relation(node, home, device.numa_node)
        if placement != case.placement:
            return messages.OTHER_PLACEMENT.finding(
                item, rank=rank.get("rank"), numa_node=home.index, relation=(placement or "unknown").replace("_", " ")
            )
    return None
