"""Which capacities each flow of a cell crosses on a node type, and with which weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError
from nearfar.cells import Cell, Flow, flow_class
from nearfar.topology import OWN_LINKS

from . import host_peers
from .capacities import Capacity, switches
from .fair_shares import Constraint
from .node_types import NodeType, plain

#: Of each byte that a STREAM kernel counts: the parts read and written.
READ_AND_WRITTEN = {"copy": (1 / 2, 1 / 2), "scale": (1 / 2, 1 / 2), "add": (2 / 3, 1 / 3), "triad": (2 / 3, 1 / 3)}


@dataclass(frozen=True)
class CapacityShare:
    """A capacity and the weights of the flows that cross it."""

    capacity: Capacity
    weights: Mapping[Flow, float]

    @property
    def one_way(self) -> bool:
        """Whether both directions share it and only one is used: the direction's own capacity then says it all."""
        return self.capacity.name.endswith(".both") and len({flow.direction for flow in self.weights}) == 1

    def constraint(self, value: float) -> Constraint:
        """The constraint that this capacity is at such a value, GB/s."""
        return Constraint(self.capacity.name, value, self.weights)


def shares_of(cell: Cell, node_type: NodeType) -> list[CapacityShare]:
    """Every capacity and cap that a flow of the cell crosses, known or not."""
    weights: dict[str, dict[Flow, float]] = {}
    capacities = dict(node_type.capacities)
    for flow in cell.flows:
        for capacity, weight in crossings(flow, node_type, cell):
            capacities.setdefault(capacity.name, capacity)
            weights.setdefault(capacity.name, {})[flow] = weight
    shares = [CapacityShare(capacities[name], crossing) for name, crossing in weights.items()]
    by_plain = {plain(flow): flow for flow in cell.flows}
    for joint, cap in node_type.caps.items():
        if not joint.lone and set(joint.flows) <= set(by_plain):
            shares.append(CapacityShare(cap, {by_plain[flow]: 1.0 for flow in joint.flows}))
    return shares


def crossings(flow: Flow, node_type: NodeType, cell: Cell) -> Iterator[tuple[Capacity, float]]:
    """What one flow of a cell crosses, with its weight there."""
    if flow.kind == "host":
        yield from _host_crossings(flow, node_type, cell)
    elif flow.kind == "stream":
        yield from _stream_crossings(flow, node_type)
    elif flow.kind == "compute":
        raise NearfarError(f"{flow}: what a GPU computes is not predicted")
    elif flow.kind in ("local", "gpu_stream"):
        yield from _own_crossings(flow, node_type, cell)
    else:
        yield from _peer_crossings(flow, node_type, cell)


def _host_crossings(flow: Flow, node_type: NodeType, cell: Cell) -> Iterator[tuple[Capacity, float]]:
    node, capacities = node_type.node, node_type.capacities
    down = flow.direction == "h2d"
    gpu, memory = node.gpu(flow.gpus[0]), node.numa_node(flow.numa_node if flow.numa_node is not None else -1)
    assert gpu is not None and memory is not None, "the endpoints were checked"
    yield capacities[f"g{gpu.index}.{flow.direction}"], 1.0
    yield capacities[f"g{gpu.index}.both"], 1.0
    controller = capacities[f"n{memory.index}.memory"]
    weight = controller.read_weight if down else controller.write_weight
    yield controller, weight * (controller.mixed_weight if _mixes(cell, memory.index) else 1.0)
    if gpu.package is not None and memory.package is not None and gpu.package != memory.package:
        a, b = (memory.package, gpu.package) if down else (gpu.package, memory.package)
        yield capacities[f"p{a}-p{b}"], 1.0
    for pci, behind in switches(node).items():
        if gpu.index in behind:
            yield capacities[f"switch:{pci}.{'down' if down else 'up'}"], 1.0
            yield capacities[f"switch:{pci}.both"], 1.0
    cap = node_type.caps.get(Cell((plain(flow),)))
    if cap is not None:
        yield cap, 1.0
    elif needs_cap(flow, node_type):
        yield Capacity(str(plain(flow)), source="no figure of this flow alone is given"), 1.0


def _mixes(cell: Cell, memory: int) -> bool:
    """Whether GPUs both read and write that memory in the cell."""
    return len({flow.direction for flow in cell.flows if flow.kind == "host" and flow.numa_node == memory}) > 1


def needs_cap(flow: Flow, node_type: NodeType) -> bool:
    """Whether a flow may alone be slower than its way's capacities: across packages, by a kernel, pageable memory."""
    far = flow_class(node_type.node, flow) in ("off_socket", "unknown") and not node_type.paths_alike
    return far or flow.sm or flow.pageable


def _stream_crossings(flow: Flow, node_type: NodeType) -> Iterator[tuple[Capacity, float]]:
    node = node_type.node
    cores, memory = flow.source.index, flow.destination.index
    controller = node_type.capacities[f"n{memory}.memory"]
    kernel = flow.kernel or "copy"
    rate = node_type.stream.get((cores, memory), {}).get(kernel)
    cap = node_type.caps.get(Cell((flow,)))
    if cap is not None:
        yield cap, 1.0
    elif flow.cores is not None:
        yield Capacity(str(flow), source="no figure of so many of its cores is given"), 1.0
    if cores == memory:
        if controller.value is not None and rate is not None:
            # The kernels differ a little in how much of the controller's time a byte takes: alone each just fills it.
            yield controller, controller.value / rate
            return
        yield controller, 1.0
    else:
        yield controller, 1.0
        a, b = node.numa_node(cores), node.numa_node(memory)
        if a is not None and b is not None and None not in (a.package, b.package) and a.package != b.package:
            read, written = READ_AND_WRITTEN[kernel]
            yield node_type.capacities[f"p{b.package}-p{a.package}"], read
            yield node_type.capacities[f"p{a.package}-p{b.package}"], written
    if cap is None and flow.cores is None and (rate is not None or cores != memory):
        source = "published STREAM" if rate is not None else "no STREAM figure of this pair is given"
        yield Capacity(str(flow), rate, source=source, published=rate is not None), 1.0


def _own_crossings(flow: Flow, node_type: NodeType, cell: Cell) -> Iterator[tuple[Capacity, float]]:
    """Within a GPU's memory, and kernels of GPUs: their own figure alone, where one is given; else the GPU's memory, which a copy reads
    and writes while a kernel's rate counts both. Beside others that use the same GPU nobody knows."""
    cap = node_type.caps.get(Cell((plain(flow),)))
    memory = node_type.capacities.get(f"g{flow.gpus[0]}.memory")
    if cap is None and flow.source == flow.destination and memory is not None and (memory.value or memory.best):
        yield memory, 1.0 if flow.kind == "gpu_stream" else 2.0
    else:
        yield cap or Capacity(str(plain(flow)), source="no figure of this flow alone is given"), 1.0
    beside = [plain(other) for other in cell.flows if set(other.gpus) & set(flow.gpus)]
    if not _described(beside, node_type):
        source = f"how flows share the memory of GPU {flow.gpus[0]} is not described"
        yield Capacity(f"g{flow.gpus[0]}.device_memory", source=source, told_by=_cell_of(beside)), 1.0


def _peer_crossings(flow: Flow, node_type: NodeType, cell: Cell) -> Iterator[tuple[Capacity, float]]:
    """Through an NVLink switch flows share what leaves their source and what enters their destination.

    Elsewhere they carry their own figure alone, and with the one back what a cap says. Beside other pairs they carry as
    much where their NVLink lanes are their own; how paths through the host are shared is not described.
    """
    cap = node_type.caps.get(Cell((plain(flow),)))
    ways = [node_type.capacities.get(name) for name in (f"{flow.source}.out", f"{flow.destination}.in")]
    if not flow.staged and None not in ways:
        yield from ((way, 1.0) for way in (*ways, cap) if way is not None)
        return
    yield cap or Capacity(str(plain(flow)), source="no figure of this flow alone is given"), 1.0
    if host_peers.through_the_host(flow, node_type.node):
        links = [node_type.capacities.get(name) for name in host_peers.ways_of(flow)]
        yield from ((link, 1.0) for link in links if link is not None)
    together = list(map(plain, cell.flows))
    if not flow.staged and flow_class(node_type.node, flow).startswith(OWN_LINKS):
        together = [other for other in together if frozenset(other.gpus) == frozenset(flow.gpus)]
    if not _described(together, node_type):
        source = "how flows between GPUs share their way is not described"
        name = f"{flow.source}-{flow.destination}"
        yield Capacity(name, source=source, told_by=_cell_of(together)), 1.0


def _described(together: Sequence[Flow], node_type: NodeType) -> bool:
    """Whether it is known what flows carry together: there is but one of them, or a cap of a cell that has them all."""
    wanted = set(together)
    return len(wanted) < 2 or any(wanted <= set(joint.flows) for joint in node_type.caps)


def _cell_of(flows: Sequence[Flow]) -> str:
    return str(Cell(tuple(dict.fromkeys(flows))))
