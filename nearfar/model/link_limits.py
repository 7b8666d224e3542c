"""What is certain of a nominal link: its ceiling, and that a lone path far below it is broken.

How near its ceiling a healthy path comes is a property of the machine, which no link tells. So there is one limit: a copy
engine alone on a ``near`` or ``sole`` path, or between two GPUs with NVLink, below half of the payload ceiling. Both
directions at once, many GPUs at once, kernels, far memory and NVLink-C2C have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.cells import Cell, Flow, exchange_of
from nearfar.measurement import Metric
from nearfar.model.prediction import link_ceiling, peer_link
from nearfar.topology import Link, Node, behind_nvswitch

#: Below this part of its payload ceiling a lone path is broken: that is what half of the lanes, or one generation less,
#: carry. The slowest healthy one that is published has 0.66 (a V100 in a cloud's virtual machine; benchmarks/studies/prediction.md).
BROKEN = 0.5
#: The classes of paths to the host that lead through the GPU's own link alone.
OWN_LINK_CLASSES = ("near", "sole")
#: The kinds of link whose payload ceiling follows from generation and width. What the driver states of NVLink-C2C is its line
#: rate, and nobody says what of it is payload.
_KINDS = ("pcie", "nvlink")


@dataclass(frozen=True)
class Ceiling:
    """What the links of a figure can carry of payload, GB/s, and how that is known."""

    value: float
    explanation: str


def knows_memory(cell: Cell, node: Node) -> bool:
    """Whether the memory of a host cell is an ordinary NUMA node's: what CPU-less memory (CXL) carries nobody states.

    Where no NUMA node shows any CPU (a capture without cores) nothing is told apart.
    """
    memories = [node.numa_node(flow.numa_node) for flow in cell.flows if flow.numa_node is not None]
    if not any(numa.cpus for numa in node.host_numa_nodes):
        return True
    return all(memory is None or bool(memory.cpus) for memory in memories)


def host_load(cell: Cell) -> str | None:
    """``lone`` or ``both`` (both directions between one NUMA node and one GPU); None for any other cell."""
    flows = cell.flows
    if any(flow.kind != "host" or flow.tasks > 1 or flow.pageable or flow.huge for flow in flows):
        return None
    if cell.lone:
        return "lone"
    paths = {(flow.numa_node, flow.gpus) for flow in flows}
    directions = sorted(flow.direction for flow in flows)
    return "both" if len(paths) == 1 and directions == ["d2h", "h2d"] else None


def peer_load(cell: Cell) -> str | None:
    """``lone`` or ``both`` (both directions between two GPUs, driven alike); None for any other cell."""
    flows = cell.flows
    if any(flow.kind != "peer" or flow.tasks > 1 for flow in flows):
        return None
    if cell.lone:
        return "lone"
    ways = {(frozenset(flow.gpus), flow.options, driven(flow)) for flow in flows}
    return "both" if len(flows) == 2 and len(ways) == 1 and flows[0].gpus != flows[1].gpus else None


def driven(flow: Flow) -> str:
    """``write`` where the source of a flow between GPUs drives it, ``read`` where the destination does."""
    return "write" if flow.driver is None else "read"


def least(metric: Metric, node: Node) -> Ceiling | None:
    """The ceiling below ``BROKEN`` of which the path of a figure is broken; None where nothing is certain of it."""
    cell = metric.cell
    if metric.unit != "GB/s" or metric.derived or not cell.lone or cell.flows[0].options:
        return None
    if host_load(cell) is not None and metric.path_class not in OWN_LINK_CLASSES:
        return None
    return ceiling(metric, node)


def ceiling(metric: Metric, node: Node) -> Ceiling | None:
    """What the nominal links of a rate can carry together: of one path to the host or between two GPUs, in one direction
    or both, and of exchanges of many GPUs; None where that is not known."""
    if metric.unit != "GB/s" or metric.derived:
        return None
    load = host_load(metric.cell)
    if load is None:
        return _of_peers(metric, node)
    gpu = node.gpu(metric.cell.flows[0].gpus[0])
    if gpu is None or not knows_memory(metric.cell, node):
        return None
    link = gpu.link.nominal
    flows: Sequence[Flow] = metric.cell.flows if metric.total or metric.flow is None else [metric.flow]
    each = link_ceiling(link) if link.kind in _KINDS else None
    if each is None:
        return None
    together = each * len(flows)
    return Ceiling(together, f"{link_text(link)} carries {together:.1f} GB/s of payload")


def _of_peers(metric: Metric, node: Node) -> Ceiling | None:
    """Of the NVLink between two GPUs; None for other links, and for what is staged through the host."""
    flows = metric.cell.flows
    if peer_load(metric.cell) is None:
        return _of_exchange(metric, node)
    if any(flow.staged for flow in flows):
        return None
    link = peer_link(node, *flows[0].gpus)
    one_way = None if link is None else link_ceiling(link)
    if link is None or one_way is None:
        return None
    value = one_way * (2 if metric.total else 1)
    return Ceiling(value, f"{link_text(link)} carries {value:.1f} GB/s of payload")


def _of_exchange(metric: Metric, node: Node) -> Ceiling | None:
    """Of many flows between GPUs at once where each pair, or the one GPU that all flows have in common, has its NVLink
    lanes for itself. How one to all and all to one divide the lanes of the one is not known."""
    exchange = exchange_of(metric.cell)
    if exchange is None:
        return None
    links = {peer_link(node, *flow.gpus) for flow in metric.cell.flows}
    link = links.pop() if len(links) == 1 else None
    value = None if link is None else link_ceiling(link)
    if link is None or value is None:
        return None
    if exchange.hub is not None:
        if exchange.hub not in behind_nvswitch(node) or not metric.total:
            return None
        lanes = f"GPU {exchange.hub}'s lanes to the switch, {link_text(link)},"
        return Ceiling(value, f"{lanes} carry {value:.1f} GB/s of payload")
    together = len(metric.cell.flows) if metric.total else 1
    carrier = f"{'' if together == 1 else f'{together} × '}{link_text(link)}"
    return Ceiling(value * together, f"{carrier} carries {value * together:.1f} GB/s of payload")


def link_text(link: Link) -> str:
    """A link as people name it: ``PCIe 5.0 x16``, ``NVLink 2 x2``."""
    if link.kind == "pcie":
        return f"PCIe {link.gen}.0 x{link.width}" if link.gen and link.width else "PCIe"
    name = {"nvlink": "NVLink", "c2c": "NVLink-C2C"}.get(link.kind, link.kind)
    return f"{name} {link.gen or ''}{f' x{link.width}' if link.width else ''}".strip()
