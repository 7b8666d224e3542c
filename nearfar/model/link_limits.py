"""What a link that is as it should be must carry at least: its payload ceiling times a floor.

A floor is the fraction of the payload ceiling below which no healthy machine is known. It belongs to a kind of link,
its generation, the engine that moves the bytes and the kind of cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.cells import Cell, Flow, exchange_of
from nearfar.measurement import Metric
from nearfar.model.prediction import link_ceiling, peer_link
from nearfar.topology import Gpu, Link, Node, behind_nvswitch

#: To the host, (kind, generation): (a copy engine alone; each direction of both at once, and kernels). PCIe 4 and 5:
#: current GPUs with copy engines reach 0.95 alone and 0.87 in both directions. PCIe 2: 5.7 of 6.9 GB/s (Spafford et al.
#: 2011). NVLink 2 to the host: 45.9 of 47.1 GB/s alone, 38.7 in each direction of both (Joubert 2019). PCIe 3 lies
#: between its neighbours; PCIe 6 is taken as 5.
FLOORS = {
    ("pcie", 1): (0.70, 0.65),
    ("pcie", 2): (0.78, 0.72),
    ("pcie", 3): (0.82, 0.76),
    ("pcie", 4): (0.92, 0.85),
    ("pcie", 5): (0.92, 0.85),
    ("pcie", 6): (0.92, 0.85),
    ("nvlink", 2): (0.88, 0.75),
}
#: NVLink between GPUs, by generation: (a copy engine alone, each direction of both at once and many GPUs at once, kernels).
#: Generation 4 with 18 lanes: 0.975 to 0.99, 0.97 and 0.92 to 0.94 of 400 GB/s on H200s; all to one 1.00.
PEER_FLOORS = {4: (0.95, 0.92, 0.85)}
#: Below this fraction of the ceiling a path is broken, not slow.
BROKEN = 0.6
#: The same where the way leads through a package link, or may, whose capacity nobody states. The lowest healthy
#: figure that is published is 0.46 (Sierra, both directions at once, across the X-Bus).
BROKEN_OFF_SOCKET = 0.4
#: The least healthy ratio of a far path to the near one: 0.50 off socket (Sierra, both directions); on socket nothing
#: slower is known.
LEAST_RATIO = {"off_socket_over_near": 0.45, "on_socket_over_near": 0.6}


@dataclass(frozen=True)
class Expectation:
    """``ceiling`` GB/s of payload; DEGRADED below ``floor`` × ceiling (None: not judged), FAIL below ``broken`` ×
    ceiling."""

    ceiling: float
    floor: float | None
    broken: float
    explanation: str


def knows_memory(cell: Cell, node: Node) -> bool:
    """Whether the memory of a host cell is an ordinary NUMA node's: what CPU-less memory (CXL) carries nobody states.

    Where no NUMA node shows any CPU (a capture without cores) nothing is told apart.
    """
    memories = [node.numa_node(flow.numa_node) for flow in cell.flows if flow.numa_node is not None]
    if not any(numa.cpus for numa in node.host_numa_nodes):
        return True
    return all(memory is None or bool(memory.cpus) for memory in memories)


def least_ratio(metric: Metric, node: Node) -> float | None:
    """The least healthy value of a ratio; None where none is known: NVLink-C2C is wider than what leads to the other
    packages by a factor that nobody states, and CPU-less memory may be slower than the link."""
    gpu = node.gpu(metric.cell.flows[0].gpus[0]) if metric.cell.flows[0].gpus else None
    if gpu is None or gpu.link.kind == "c2c" or not knows_memory(metric.cell, node):
        return None
    return LEAST_RATIO.get(metric.class_in_name)


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


def nominal_link(gpu: Gpu) -> Link:
    """The link as device and slot allow it, whatever its present state (an idle GPU shows a low generation)."""
    link = gpu.link
    return replace(link, gen=link.max_gen or link.gen, width=link.max_width or link.width)


def expectation(metric: Metric, node: Node) -> Expectation | None:
    """What the nominal link lets one expect of a metric; None where no ceiling or no floor is known."""
    if metric.unit != "GB/s" or metric.derived:
        return None
    load = host_load(metric.cell)
    if load is None:
        return _of_peers(metric, node)
    gpu = node.gpu(metric.cell.flows[0].gpus[0])
    if gpu is None or not knows_memory(metric.cell, node):
        return None
    link = nominal_link(gpu)
    floors = FLOORS.get((link.kind, link.gen or 0))
    flows: Sequence[Flow] = metric.cell.flows if metric.total or metric.flow is None else [metric.flow]
    ceilings = [link_ceiling(link, flow.direction) for flow in flows]
    known = [ceiling for ceiling in ceilings if ceiling is not None]
    if floors is None or len(known) < len(ceilings):
        return None
    alone, shared = floors
    off_socket = metric.path_class in ("off_socket", "unknown")
    floor = alone if load == "lone" and not any(flow.sm for flow in flows) else shared
    loads = "both directions" if metric.total else {"lone": "alone", "both": "with both directions at once"}[load]
    return Expectation(
        ceiling=sum(known),
        floor=None if off_socket else floor,
        broken=BROKEN_OFF_SOCKET if off_socket else BROKEN,
        explanation=f"{link_text(link)} carries {sum(known):.1f} GB/s of payload"
        + (", the package link is not described" if off_socket else f", {floor:g} of it is expected {loads}"),
    )


def _of_peers(metric: Metric, node: Node) -> Expectation | None:
    """What the NVLink between GPUs lets one expect; None for other links, and for what is staged through the host."""
    load = peer_load(metric.cell)
    flows = metric.cell.flows
    if load is None:
        return _of_exchange(metric, node)
    if any(flow.staged for flow in flows):
        return None
    link = peer_link(node, *flows[0].gpus)
    floors = None if link is None else PEER_FLOORS.get(link.gen or 0)
    ceiling = None if link is None else link_ceiling(link, "p2p")
    if link is None or floors is None or ceiling is None:
        return None
    floor = floors[2] if any(flow.sm for flow in flows) else floors[0] if load == "lone" else floors[1]
    ceiling *= 2 if metric.total else 1
    loads = "both directions" if metric.total else {"lone": "alone", "both": "with both directions at once"}[load]
    words = f"{link_text(link)} carries {ceiling:.1f} GB/s of payload, {floor:g} of it is expected {loads}"
    return Expectation(ceiling=ceiling, floor=floor, broken=BROKEN, explanation=words)


def _of_exchange(metric: Metric, node: Node) -> Expectation | None:
    """What many flows between GPUs carry at once where each pair, or the one GPU that all flows have in common, has its
    NVLink lanes for itself. How one to all and all to one divide the lanes of the one is not asserted."""
    exchange = exchange_of(metric.cell)
    if exchange is None:
        return None
    links = {peer_link(node, *flow.gpus) for flow in metric.cell.flows}
    link = links.pop() if len(links) == 1 else None
    floors = None if link is None else PEER_FLOORS.get(link.gen or 0)
    ceiling = None if link is None else link_ceiling(link, "p2p")
    if link is None or floors is None or ceiling is None:
        return None
    if exchange.hub is not None:
        if exchange.hub not in behind_nvswitch(node) or not metric.total:
            return None
        words = f"GPU {exchange.hub}'s lanes to the switch, {link_text(link)}, carry {ceiling:.1f} GB/s of payload"
    else:
        together = len(metric.cell.flows) if metric.total else 1
        ceiling *= together
        words = f"{'' if together == 1 else f'{together} × '}{link_text(link)} carries {ceiling:.1f} GB/s of payload"
    words += f", {floors[1]:g} of it is expected of many at once"
    return Expectation(ceiling=ceiling, floor=floors[1], broken=BROKEN, explanation=words)


def link_text(link: Link) -> str:
    """A link as people name it: ``PCIe 5.0 x16``, ``NVLink 2 x2``."""
    if link.kind == "pcie":
        return f"PCIe {link.gen}.0 x{link.width}" if link.gen and link.width else "PCIe"
    name = {"nvlink": "NVLink", "c2c": "NVLink-C2C"}.get(link.kind, link.kind)
    return f"{name} {link.gen or ''}{f' x{link.width}' if link.width else ''}".strip()
