"""Copies between GPUs that have no NVLink of their own: they go through both GPUs' links to the host.

What such a link carries of them is not what it carries to the host; it is the best of what the GPU's copies to, or from, others reach.
On a healthy node that limits nothing beside their own figures. A link at half of that slows all of a GPU's pairs, those within a switch
more than those across packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nearfar.cells import Flow, flow_class
from nearfar.topology import Node

from .capacities import Capacity
from .node_types import NodeType

#: The direction of a GPU's link to the host that its copies with other GPUs use: into it that from the host.
LINK_DIRECTION = {"peers_in": "h2d", "peers_out": "d2h"}


def ways_of(flow: Flow) -> tuple[str, str]:
    """The names of the two capacities that a copy between GPUs crosses."""
    return f"{flow.source}.peers_out", f"{flow.destination}.peers_in"


def through_the_host(flow: Flow, node: Node) -> bool:
    """Whether a copy between two GPUs goes directly from one to the other, and by their links to the host."""
    return flow.kind == "peer" and not flow.staged and not flow_class(node, flow).startswith(("NV", "unknown"))


def capacities(node_type: NodeType) -> dict[str, Capacity]:
    """What each GPU's link to the host carries of copies between GPUs, GB/s: by name, where the node type knows any such copy alone."""
    best: dict[str, float] = {}
    for cell, cap in node_type.caps.items():
        if cell.lone and cap.value is not None and through_the_host(cell.flows[0], node_type.node):
            for name in ways_of(cell.flows[0]):
                best[name] = max(best.get(name, 0.0), cap.value)
    source = "the best of the GPU's copies with others"
    return {name: Capacity(name, value, source=source) for name, value in best.items()}


def with_them(node_type: NodeType) -> NodeType:
    """The node type with these capacities beside its own."""
    return replace(node_type, capacities={**node_type.capacities, **capacities(node_type)})


def degraded(node_type: NodeType, factors: Mapping[str, float]) -> dict[str, Capacity]:
    """Those capacities whose link's direction has a factor (``g9.h2d``: 0.5), times it."""
    found = {}
    for name, capacity in capacities(node_type).items():
        gpu, _, way = name.partition(".")
        factor = factors.get(f"{gpu}.{LINK_DIRECTION[way]}")
        if factor is not None and capacity.value is not None:
            found[name] = replace(capacity, value=capacity.value * factor)
    return found
