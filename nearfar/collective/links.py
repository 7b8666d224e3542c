"""What the links between a node's GPUs carry for NCCL's kernels, one way for each GPU of a ring, GB/s."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

from nearfar.base import NearfarError, site_directories
from nearfar.cells import parse
from nearfar.model.prediction import NodeType, implied_capacities, line_rate, link_ceiling, predict
from nearfar.model.typical import load_experience, typical_rate
from nearfar.topology import Gpu, Link, behind_nvswitch, peer_class, shared_uplinks

NETWORK = "network"
#: Fitted: what NCCL's kernels move of an NVLink lane's line rate (packets of 128 bytes with headers and acknowledgements).
NVLINK_EFFICIENCY = 0.81
#: Fitted: what a ring through host memory reaches of the PCIe ceiling of a GPU's link, which it uses both ways at once.
SHM_EFFICIENCY = 0.52
#: What copies one way, to host memory or from it, reach of the PCIe ceiling (published nodes' captures of copies).
ONE_WAY = 0.87
#: GPUs whose NVLink lanes run at 14.0625 GB/s instead of the generation's rate (NVIDIA, GA102 whitepaper).
_SLOW_LANES = re.compile(r"\b(A40|A4500|A5000|A6000|RTX 3090)\b")
_SLOW_LANE = 14.0625 / 25
#: Up to so many GPUs every order of a ring over direct lanes is tried.
_MOST_ORDERS = 8


@dataclass(frozen=True)
class LinkRate:
    """What a part carries of it, GB/s: ``basis`` as in ``ExpectedBandwidth``."""

    part: str
    rate: float
    basis: str


@dataclass(frozen=True)
class Inside:
    """How a node's GPUs reach each other: the slowest link of a ring, that through host memory, NVLink's generation to a switch."""

    transport: str
    ring: LinkRate
    host: LinkRate | None
    #: What goes through host memory one way only, from one GPU to one other; None for other transports.
    one_way: LinkRate | None
    switch_generation: int | None


def within(node_type: NodeType, gpus: Sequence[int], transport: str | None) -> Inside:
    """The best transport that all of them have, or ``transport``; raises ``NearfarError`` where they lack it or nothing is known."""
    host = _over_pcie(node_type, gpus, lambda a, b: False)
    if len(gpus) == 1:
        return Inside("nvlink", LinkRate(f"g{gpus[0]}", float("inf"), "ceiling"), host, None, None)
    if transport in (None, "nvlink"):
        switched = set(gpus) <= set(behind_nvswitch(node_type.node))
        ring = _switched(node_type, gpus) if switched else _direct(node_type, gpus)
        if ring is not None:
            generation = min((node_type.node.gpu(gpu) or Gpu(gpu, "")).nvlink_generation or 0 for gpu in gpus)
            return Inside("nvlink", ring, host, None, generation if switched else None)
    if transport == "shm":
        ring, peers = host, False
    elif transport == "pcie":
        ring, peers = _over_pcie(_without_nvlink(node_type), gpus, lambda a, b: True), True
    else:
        ring = None if transport else _over_pcie(node_type, gpus, lambda a, b: _uses_peers(node_type, a, b))
        peers = all(_uses_peers(node_type, a, b) for a, b in _hops(node_type, gpus))
    if ring is None:
        lacking = f"no {transport} between" if transport else "nothing is known of the links between"
        raise NearfarError(f"{node_type.name}: {lacking} {', '.join(f'g{gpu}' for gpu in gpus)}")
    return Inside("pcie" if peers else "shm", ring, host, None if peers else _one_way(node_type, gpus), None)


def _without_nvlink(node_type: NodeType) -> NodeType:
    """The node type as if its GPUs had no NVLink lanes: copies between them say nothing of PCIe where they have some."""
    node = node_type.node
    if not any(gpu.nvlinks for gpu in node.gpus) and not any(link.startswith("NV") for link in node.peers.values()):
        return node_type
    bare = replace(node, gpus=tuple(replace(gpu, nvlinks=None) for gpu in node.gpus), peers={})
    return replace(node_type, node=bare, capacities=implied_capacities(bare))


def _uses_peers(node_type: NodeType, a: int, b: int) -> bool:
    """Whether NCCL goes directly from one GPU to the other over PCIe if nobody tells it to: below one PCIe switch, or between the two
    GPUs of an AMD machine (NVIDIA/nccl, src/graph/paths.cc), where the maker's driver allows it."""
    node = node_type.node
    if any("GeForce" in ((node.gpu(gpu) or Gpu(gpu, "")).name or "") for gpu in (a, b)):
        return False
    two_of_amd = len(node.gpus) == 2 and any("AMD" in (package.model or "") for package in node.packages)
    return two_of_amd or peer_class(node, a, b) in ("PIX", "PXB")


def _lane(node_type: NodeType, gpu: int) -> float | None:
    """What NCCL's kernels move over one NVLink lane of a GPU, GB/s."""
    known = node_type.node.gpu(gpu)
    rate = None if known is None else line_rate(Link("nvlink", known.nvlink_generation, 1))
    if known is None or rate is None:
        return None
    return rate * NVLINK_EFFICIENCY * (_SLOW_LANE if _SLOW_LANES.search(known.name or "") else 1.0)


def _switched(node_type: NodeType, gpus: Sequence[int]) -> LinkRate | None:
    """The GPU with the least to or from the switch."""
    rates = []
    for gpu in gpus:
        lane, known = _lane(node_type, gpu), node_type.node.gpu(gpu)
        if lane is None or known is None or not known.nvlinks:
            return None
        for way in ("out", "in"):
            capacity = node_type.capacities.get(f"g{gpu}.{way}")
            # Lanes that copies find slow are slow for kernels too.
            found = (
                None
                if capacity is None or capacity.value is None or not capacity.peak
                else capacity.value / capacity.peak
            )
            rate = lane * known.nvlinks * min(1.0, found or 1.0)
            rates.append(LinkRate(f"g{gpu}.{way}", rate, "ceiling" if found is None else "measured"))
    return min(rates, key=lambda one: one.rate)


def _direct(node_type: NodeType, gpus: Sequence[int]) -> LinkRate | None:
    """Rings over lanes between pairs, one after the other, each the widest that is left; a lane serves a ring each way."""
    lanes = {
        frozenset((a, b)): int(link[2:])
        for a in gpus
        for b in gpus
        if a < b and re.fullmatch(r"NV\d+", link := node_type.node.peers.get((a, b), ""))
    }
    lane = min((_lane(node_type, gpu) or 0.0 for gpu in gpus), default=0.0)
    if not lanes or not lane:
        return None
    if len(gpus) == 2:
        return LinkRate(f"g{gpus[0]}-g{gpus[1]}", lane * sum(lanes.values()), "ceiling")
    total, left, narrowest = 0, dict(lanes), ""
    while ring := _widest_ring(gpus, left):
        width, a, b = min((left[hop], *sorted(hop)) for hop in ring)
        narrowest = narrowest or f"g{a}-g{b}"
        total += 2 * width
        left.update({hop: left[hop] - width for hop in ring})
    return LinkRate(narrowest, lane * total, "ceiling") if total else None


def _widest_ring(gpus: Sequence[int], left: Mapping[frozenset[int], int]) -> list[frozenset[int]]:
    """The hops of the ring over all GPUs whose narrowest hop has the most lanes left; empty where there is none."""
    best: tuple[int, list[frozenset[int]]] = (0, [])
    for order in permutations(gpus[1:]) if len(gpus) <= _MOST_ORDERS else ():
        if order[0] > order[-1]:
            continue
        hops = [frozenset(hop) for hop in pairwise((gpus[0], *order, gpus[0]))]
        width = min(left.get(hop, 0) for hop in hops)
        if width > best[0]:
            best = width, hops
    return best[1]


def _hops(node_type: NodeType, gpus: Sequence[int]) -> list[tuple[int, int]]:
    """The hops of a ring that leaves each package, NUMA node and switch once."""

    def place(index: int) -> tuple[int, int, tuple[str, ...], int]:
        gpu = node_type.node.gpu(index) or Gpu(index, "")
        return (gpu.package or 0, gpu.numa_node or 0, gpu.uplinks[::-1], index)

    order = sorted(gpus, key=place)
    return list(pairwise((*order, order[0])))


def _over_pcie(node_type: NodeType, gpus: Sequence[int], peers: Callable[[int, int], bool]) -> LinkRate | None:
    """The slowest part of a ring over PCIe: hops for which ``peers`` is true go directly, all others through host memory, where
    uplinks that GPUs share carry all that leaves those below them."""
    rates: list[LinkRate | None] = []
    staged: list[int] = []
    for a, b in _hops(node_type, gpus):
        if peers(a, b):
            rates.append(_peer_hop(node_type, a, b))
            continue
        staged.append(a)
        for gpu, way in ((a, "d2h"), (b, "h2d")):
            ceiling = _ceiling(node_type, gpu)
            rates.append(None if ceiling is None else LinkRate(f"g{gpu}.{way}", ceiling * SHM_EFFICIENCY, "ceiling"))
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates) or not known:
        return None
    for pci, names in shared_uplinks(node_type.node).items():
        below = [ceiling for gpu in staged if f"g{gpu}" in names and (ceiling := _ceiling(node_type, gpu)) is not None]
        if len(below) > 1:
            known.append(LinkRate(f"switch:{pci}.up", max(below) * SHM_EFFICIENCY / len(below), "ceiling"))
    return min(known, key=lambda one: one.rate)


def _peer_hop(node_type: NodeType, a: int, b: int) -> LinkRate | None:
    """Half of what copies both ways carry between two GPUs: of this node type where known, else as healthy machines typically do."""
    cell = parse(f"g{a}:g{b}+g{b}:g{a}")
    predicted = predict(cell, node_type)
    if predicted.total is not None and predicted.basis not in ("upper bound", "nominal"):
        return LinkRate(f"g{a}-g{b}", predicted.total / 2, "measured")
    typical = typical_rate(cell, node_type, load_experience(tuple(site_directories())))
    return None if typical is None else LinkRate(f"g{a}-g{b}", typical.typical / 2, "typical")


def _one_way(node_type: NodeType, gpus: Sequence[int]) -> LinkRate | None:
    """The slowest link of a flow that each GPU only writes to host memory or only reads from it."""
    ceilings = [(rate, gpu) for gpu in gpus if (rate := _ceiling(node_type, gpu)) is not None]
    rate, gpu = min(ceilings)
    return LinkRate(f"g{gpu}.h2d", rate * ONE_WAY, "ceiling")


def _ceiling(node_type: NodeType, gpu: int) -> float | None:
    """What a GPU's PCIe link carries of payload each way, GB/s."""
    known = node_type.node.gpu(gpu)
    if known is None or known.link.kind != "pcie":
        return None
    return link_ceiling(known.link)
