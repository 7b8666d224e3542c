"""Copies between GPUs that have no NVLink of their own, or are staged: they go through both GPUs' links to the host.

On a healthy node these limit nothing beside the pairs' own figures. A link at half of what it carries slows a GPU's pairs below a PCI
switch by a half, and those across packages by less.
"""

from __future__ import annotations

from dataclasses import replace

from nearfar.cells import Flow, flow_class
from nearfar.topology import OWN_LINKS, Node

from .capacities import Capacity
from .node_types import NodeType

#: The direction of a GPU's link to the host that its copies with other GPUs use: into it that from the host.
_DIRECTION = {"peers_in": "h2d", "peers_out": "d2h", "staged_in": "h2d", "staged_out": "d2h"}


def link_of(name: str) -> str | None:
    """The capacity of the link that one of these goes through: ``g9.h2d`` of ``g9.peers_in``; None for all other names."""
    gpu, _, way = name.partition(".")
    return f"{gpu}.{_DIRECTION[way]}" if way in _DIRECTION else None


def ways_of(flow: Flow) -> tuple[str, str]:
    """The names of the two capacities that a copy between GPUs crosses."""
    how = "staged" if flow.staged else "peers"
    return f"{flow.source}.{how}_out", f"{flow.destination}.{how}_in"


def through_the_host(flow: Flow, node: Node) -> bool:
    """Whether a copy between two GPUs goes by their links to the host: staged in host memory, or without NVLink."""
    return flow.kind == "peer" and (flow.staged or not flow_class(node, flow).startswith((*OWN_LINKS, "unknown")))


def capacities(node_type: NodeType) -> dict[str, Capacity]:
    """What each GPU's link to the host carries of copies between GPUs, GB/s: by name, where the node type knows any such copy alone.

    The best of its pairs below a PCI switch, which nothing else limits; without such a pair what the link carries to or from the host,
    or the best of all its pairs where that is more.
    """
    best: dict[str, list[tuple[bool, float]]] = {}
    for cell, cap in node_type.caps.items():
        flow = cell.flows[0]
        if cell.lone and cap.value is not None and through_the_host(flow, node_type.node):
            below_a_switch = not flow.staged and flow_class(node_type.node, flow) in ("PIX", "PXB")
            for name in ways_of(flow):
                best.setdefault(name, []).append((below_a_switch, cap.value))
    by_name = {}
    for name, values in best.items():
        below_a_switch, value = max(values)
        link = node_type.capacities.get(link_of(name) or "")
        if not below_a_switch and link is not None:
            value = max(value, link.value or 0.0)
        by_name[name] = Capacity(name, value, source="the GPU's link to the host")
    return by_name


def with_them(node_type: NodeType) -> NodeType:
    """The node type with these capacities beside its own."""
    return replace(node_type, capacities={**node_type.capacities, **capacities(node_type)})
