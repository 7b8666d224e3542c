"""The path class of a flow and of a cell on a given node."""

from __future__ import annotations

from nearfar.base import NearfarError
from nearfar.topology import LOCAL_CLASS, Node, host_class, peer_class

from .notation import Cell, Flow


def flow_class(node: Node, flow: Flow) -> str:
    """The class of a flow's path: that of (NUMA node, GPU), or of the pair of GPUs; ``device_local`` within one GPU.

    STREAM flows of cores are ``local``, ``on_socket`` or ``off_socket``. ``unknown`` also stands where the node has no
    such endpoint: that difference is for the topology to judge.
    """
    try:
        if len(flow.gpus) > 1:
            return peer_class(node, *flow.gpus)
        if flow.gpus and flow.numa_node is not None:
            return host_class(node, flow.numa_node, flow.gpus[0])
    except NearfarError:
        return "unknown"
    if flow.gpus:
        return "unknown" if node.gpu(flow.gpus[0]) is None else LOCAL_CLASS
    cores, memory = (node.numa_node(end.index) for end in (flow.source, flow.destination))
    if cores is None or memory is None:
        return "unknown"
    if cores == memory:
        return "local"
    if cores.package is None or memory.package is None:
        return "unknown"
    return "on_socket" if cores.package == memory.package else "off_socket"


def cell_class(node: Node, cell: Cell) -> str:
    """The class that all flows of the cell have, else ``mixed``."""
    classes = {flow_class(node, flow) for flow in cell.flows}
    return classes.pop() if len(classes) == 1 else "mixed"
