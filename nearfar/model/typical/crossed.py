"""Every limit of a cell on a node, whatever its flows are."""

from __future__ import annotations

from nearfar.cells import Cell, Flow, flow_class
from nearfar.model.prediction import NodeType, plain
from nearfar.topology import OWN_LINKS, Node

from .gpu_paths import of_own_links, of_peers
from .host_paths import of_host, of_staged
from .limits import Limit, NotDescribed


def limits_of(cell: Cell, node_type: NodeType) -> list[Limit]:
    """Every limit of the cell, the one that its figure tells of last. Raises ``NotDescribed``."""
    node = node_type.node
    kinds = {_kind(flow, node) for flow in cell.flows}
    if len(kinds) > 1:
        raise NotDescribed
    rules = {"host": of_host, "staged": of_staged, "own link": of_own_links, "peers": of_peers}
    caps = [(flow, cap.value) for flow in cell.flows if (cap := node_type.caps.get(Cell((plain(flow),)))) is not None]
    own = [Limit(str(flow), (("", value),), {flow: 1.0}) for flow, value in caps if value is not None]
    return [*own, *rules[kinds.pop()](cell, node_type)]


def _kind(flow: Flow, node: Node) -> str:
    if flow.kind == "host" and not flow.pageable and not (flow.sm and flow.direction == "d2h"):
        return "host"
    if flow.kind != "peer" or (path := flow_class(node, flow)) == "unknown":
        raise NotDescribed
    if flow.staged or path.startswith(OWN_LINKS):
        return "staged" if flow.staged else "own link"
    if any(gpu.link.kind != "pcie" for gpu in node.gpus if gpu.index in flow.gpus):
        raise NotDescribed  # whether such GPUs reach each other through the host at all differs
    return "peers"
