"""The rates of a cell's flows on a node type: which capacities each flow crosses, and their max-min shares."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from nearfar.base import NearfarError
from nearfar.cells import Cell, Endpoint, Flow, parsed

from . import host_peers
from .capacities import Capacity
from .crossings import CapacityShare, crossings, needs_cap, shares_of
from .fair_shares import Constraint, max_min
from .node_types import NodeType, check_endpoints, plain

#: Sources of values that were measured on nodes of the type itself.
CALIBRATED = ("nearfar calibrate", "calibrated")
#: The source of a value that a made-up fault has changed.
_FAULT = "changed by a made-up fault"
#: A capacity limits when less than this part of it is left.
FULL_WITHIN = 0.005


@dataclass(frozen=True)
class Prediction:
    """Rates in GB/s by flow, their sum, and the names of what is full (of all flows together, and of each).

    ``unknown`` are the capacities that the rates depend on although nobody knows them. While there are any, the rates
    are the best case: each of these at its peak, at what is nominal where no peak is known, or without limit; a rate is
    ``None`` where nothing bounds it. ``basis`` says how the rates are known: ``input`` (the figure is one of the node type's own),
    ``assumed`` (its own, taken from a like part, or limited by a capacity of ``kind: assumed``), ``predicted``,
    ``upper bound``, or ``nominal`` (a link whose nominal ceiling is not
    certain limits: it may carry more).
    """

    flows: Mapping[Flow, float | None]
    total: float | None
    limited_by: tuple[str, ...]
    limits: Mapping[Flow, tuple[str, ...]]
    unknown: tuple[Capacity, ...]
    basis: str


def predict(cell: Cell, node_type: NodeType) -> Prediction:
    """What the flows of ``cell`` carry at the same time on a healthy node of this type; ``/xK`` counts as one flow.

    An unknown capacity does not matter while what is asked of it stays within what a single flow, or both directions of one
    GPU, are known to push through it.
    """
    check_endpoints(node_type.node, cell, f"node type {node_type.name}")
    shares = shares_of(cell, node_type)
    known = [share.constraint(share.capacity.value) for share in shares if share.capacity.value is not None]
    rates = max_min(cell.flows, known)
    unknown = [share for share in shares if share.capacity.value is None and not share.one_way]
    carried: Mapping[str, float] = _carried(node_type) if unknown else {}
    unknown = [
        share
        for share in unknown
        if share.constraint(math.inf).used(rates) > carried.get(share.capacity.name, 0) * (1 + FULL_WITHIN)
    ]
    if unknown:
        peaks = [share.constraint(best) for share in unknown if (best := share.capacity.best) is not None]
        known += peaks
        rates = max_min(cell.flows, known)
    speeds = read_speeds(cell.flows, (share.capacity for share in shares if _is_full(share, rates)))
    if speeds:
        rates = max_min(cell.flows, known, speeds)
    for flow in (flow for flow in cell.flows if flow.pageable and Cell((plain(flow),)) not in node_type.caps):
        # The driver's own staging decides, of which the link's and the memory's figures say nothing.
        rates[flow] = math.inf
    full = [c for c in known if c.used(rates) >= (1 - FULL_WITHIN) * c.capacity and math.isfinite(c.used(rates))]
    total = sum(rates.values())
    return Prediction(
        flows={flow: rate if math.isfinite(rate) else None for flow, rate in rates.items()},
        total=total if math.isfinite(total) else None,
        limited_by=tuple(c.name for c in full),
        limits={flow: tuple(sorted(c.name for c in full if flow in c.weights)) for flow in cell.flows},
        unknown=tuple(share.capacity for share in unknown),
        basis=_best_basis(unknown, full) if unknown else _basis(cell, total, shares, full, node_type),
    )


def _best_basis(unknown: Sequence[CapacityShare], full: Sequence[Constraint]) -> str:
    guessed = {share.capacity.name for share in unknown if share.capacity.peak is None}
    return "nominal" if any(constraint.name in guessed for constraint in full) else "upper bound"


def _basis(
    cell: Cell, total: float, shares: Sequence[CapacityShare], full: Sequence[Constraint], node_type: NodeType
) -> str:
    """Whether a node type's own figure is asked for: what was measured of a flow, of it and the one back, or of STREAM; and whether
    what limits it is assumed."""
    crossed = [share.capacity for share in shares]
    streams = all(flow.kind == "stream" for flow in cell.flows)
    # STREAM with figures of its own does not depend on what the memory is assumed to carry.
    measured = streams and all((flow.source.index, flow.destination.index) in node_type.stream for flow in cell.flows)
    limits = {constraint.name for constraint in full}
    if not measured and any(c.assumed and c.name in limits for c in crossed):
        return "assumed"
    if any(c.source == _FAULT for c in crossed):
        return "predicted"
    if streams:
        # Each memory has STREAM of its own; how two kernels share one is the model's answer.
        return "input" if len({flow.destination for flow in cell.flows}) == len(cell.flows) else "predicted"
    pair = len(cell.flows) == 2 and cell.flows[0].source == cell.flows[1].destination
    own = [c for c in crossed if c.value is not None and math.isclose(c.value, total, rel_tol=1e-6)]
    if not own or not (cell.lone or (pair and cell.flows[0].destination == cell.flows[1].source)):
        return "predicted"
    return "input" if any(c.published or c.source in CALIBRATED for c in own) else "assumed"


def read_speeds(flows: Sequence[Flow], full: Iterable[Capacity]) -> dict[Flow, float]:
    """How fast the reads of GPUs that also write rise beside other flows, where the memory that they read is full.

    A GPU's read requests wait behind its own posted writes, which PCIe never lets them pass.
    """
    shares = {memory.name: memory.read_share for memory in full if memory.read_share != 1}
    if not shares:
        return {}
    writing = {flow.gpus[0] for flow in flows if flow.direction == "d2h"}
    return {
        flow: shares[f"n{flow.numa_node}.memory"]
        for flow in flows
        if flow.direction == "h2d" and flow.gpus[0] in writing and f"n{flow.numa_node}.memory" in shares
    }


def _is_full(share: CapacityShare, rates: Mapping[Flow, float]) -> bool:
    value = share.capacity.value
    return value is not None and share.constraint(value).used(rates) >= (1 - FULL_WITHIN) * value


def degraded(node_type: NodeType, factors: Mapping[str, float]) -> NodeType:
    """The node type with capacities (or caps, by cell) multiplied by a factor of more than 0 and at most 1."""
    capacities, caps, stream = dict(node_type.capacities), dict(node_type.caps), dict(node_type.stream)
    # Copies between GPUs that go through a degraded link have as much less of it.
    peers = host_peers.capacities(node_type)
    through = {
        name: factors[link] for name in peers if (link := host_peers.link_of(name)) in factors and link is not None
    }
    capacities |= {name: peers[name] for name in through}
    for name, factor in {**factors, **through}.items():
        if not 0 < factor <= 1:
            raise NearfarError(f"{name}={factor:g}: the factor of a degraded capacity is more than 0 and at most 1")
        cell = _cap_cell(name, node_type)
        capacity = caps[cell] if cell is not None else capacities.get(name)
        if capacity is None:
            known = [c.name for c in capacities.values() if c.value is not None]
            cells = f", and {len(caps)} cells by name ({next(iter(caps))} …)" if caps else ""
            problem = f"'{name}' is not a capacity of node type {node_type.name}"
            raise NearfarError(f"{problem}; known: {', '.join(known) or 'none'}{cells}")
        healthy = capacity.value if cell is not None else healthy_value(capacity, node_type)
        if healthy is None:
            section = "capacities" if cell is None else "caps"
            raise NearfarError(
                f"{node_type.name}: {name} is not known ({capacity.source}), and a factor needs a value: write into "
                f"{node_type.where} {section}: {{{name}: {{value: …, source: …}}}} in GB/s (with kind: assumed, if nobody measured it)"
            )
        scaled = replace(capacity, value=healthy * factor, published=False, assumed=False, source=_FAULT)
        if cell is not None:
            caps[cell] = scaled
            continue
        capacities[name] = scaled
        for (cores, memory), kernels in stream.items():
            # STREAM from a node's own cores is that memory's rate.
            if cores == memory and name == f"n{memory}.memory":
                stream[cores, memory] = {kernel: rate * factor for kernel, rate in kernels.items()}
    return replace(node_type, capacities=capacities, caps=caps, stream=stream)


def healthy_value(capacity: Capacity, node_type: NodeType) -> float | None:
    """What a fault takes its part of, GB/s: the value; of a link between packages without one the most that it can carry, else what
    single flows push through it. None where nobody knows."""
    if capacity.value is not None or not re.fullmatch(r"p\d+-p\d+", capacity.name):
        return capacity.value
    return capacity.best or _carried(node_type).get(capacity.name)


@lru_cache(maxsize=16)
def _carried(node_type: NodeType) -> Mapping[str, float]:
    """What single flows with a known rate, and both directions of a GPU, are known to push through each capacity: at least that
    much it carries."""
    carried: dict[str, float] = {}
    for flow in _single_flows(node_type):
        crossed = list(crossings(flow, node_type, Cell((flow,))))
        own = [c for c, _ in crossed if c.name in (f"g{(*flow.gpus, -1)[0]}.{flow.direction}", str(plain(flow)))]
        if own and all(c.value is not None for c in own):
            rate = min(c.value / weight for c, weight in crossed if c.value is not None)
            for c, weight in crossed:
                carried[c.name] = max(carried.get(c.name, 0.0), rate * weight)
    for cell in _pairs(node_type):
        shares = shares_of(cell, node_type)
        if all(share.capacity.value is not None for share in shares if share.capacity.name.startswith("g")):
            rates = max_min(
                cell.flows, [s.constraint(s.capacity.value) for s in shares if s.capacity.value is not None]
            )
            for share in shares:
                name = share.capacity.name
                carried[name] = max(carried.get(name, 0.0), share.constraint(math.inf).used(rates))
    return carried


def _pairs(node_type: NodeType) -> Iterator[Cell]:
    """Both directions at once between a GPU and a memory, where a figure says what they carry."""
    for gpu in node_type.node.gpus:
        for memory in node_type.node.host_numa_nodes:
            ends = Endpoint("n", memory.index), Endpoint("g", gpu.index)
            cell = Cell((Flow(*ends), Flow(*ends[::-1])))
            if cell in node_type.caps or not needs_cap(cell.flows[0], node_type):
                yield cell


def _single_flows(node_type: NodeType) -> Iterator[Flow]:
    for gpu in node_type.node.gpus:
        for memory in node_type.node.host_numa_nodes:
            ends = Endpoint("n", memory.index), Endpoint("g", gpu.index)
            yield Flow(*ends)
            yield Flow(*ends[::-1])
    yield from (cell.flows[0] for cell in node_type.caps if cell.lone and cell.flows[0].kind == "peer")
    for (cores, memory_index), kernels in node_type.stream.items():
        for kernel in kernels:
            yield Flow(Endpoint("c", cores), Endpoint("n", memory_index), kernel=kernel)


def _cap_cell(name: str, node_type: NodeType) -> Cell | None:
    """The cell of a cap that goes by ``name``."""
    cell = parsed(name)
    return cell if cell in node_type.caps else None
