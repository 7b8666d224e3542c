"""The bus bandwidth that nccl-tests should print for a collective, from the node's capacities and two fitted factors.

Bus bandwidth is what the limiting link carries: a ring takes every byte of it over each GPU's link once. NVLS (in-switch reduction),
trees and pairwise exchange move other amounts of data over the same links. ``benchmarks/studies/collectives.md`` states the rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError, did_you_mean
from nearfar.model.prediction import NodeType, implied_capacities
from nearfar.topology import Node

from . import links
from .links import LinkRate

#: The collectives, named as in nccl-tests (``NAME_perf``).
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv")
#: How in-switch reduction (NVLS) compares with a ring on the same lanes, by generation of NVLink: NCCL's own constants
#: (NVIDIA/nccl, src/graph/tuning.cc: nvlsEfficiency). Earlier generations have none.
NVLS_EFFICIENCY = {4: 0.85, 5: 0.74}
#: What of its links' rate a tree reaches, which hands each piece on between links: NCCL's own constant (the same file).
TREE_EFFICIENCY = 0.92
#: GB/s at which a GPU moves its own part within itself, which all_gather and reduce_scatter do beside the ring: measured on two H100 (267
#: and 270 GB/s where the ring has 357), and within 6 % of two B200's.
OWN_PART = 1100.0
#: Bytes of payload in a packet of 4096 of an InfiniBand or RoCE NIC with its headers, and what EFA and sockets reach of the line rate.
NETWORK_EFFICIENCY = {"infiniband": 0.984, "roce": 0.984, "efa": 0.95, "socket": 0.8}
NETWORKS = tuple(NETWORK_EFFICIENCY)
#: What NCCL uses within a node.
TRANSPORTS = ("nvlink", "pcie", "shm")
TRANSPORT_WORDS = {
    "nvlink": "NVLink", "pcie": "PCIe peers", "shm": "host memory",
    "ib_gdr": "NICs with GPUDirect", "ib": "NICs through host memory", "socket": "sockets",
}  # fmt: skip
#: Seconds: of a launch; of a step between GPUs of a node by transport; of a step between nodes; of a whole in-switch reduction; what
#: the first packet through a network takes more.
LAUNCH, NETWORK_STEP, NVLS_STEPS = 10e-6, 2e-6, 4.5e-6
STEP = {"nvlink": 0.15e-6, "pcie": 0.5e-6, "shm": 1e-6}
NETWORK_LAUNCH = {"infiniband": 20e-6, "roce": 20e-6, "efa": 50e-6, "socket": 100e-6}
#: What healthy captures reach of what is expected, least and greatest: by the slowest transport; below sizes (bytes) of any, and of
#: several nodes.
RANGE = {"nvlink": (0.85, 1.12), "pcie": (0.75, 1.15), "shm": (0.6, 1.45), "network": (0.85, 1.15)}
SMALL, SMALL_RANGE = 64 << 20, (0.5, 1.7)
PAIR_RANGE = (0.7, 1.12)
MIDDLE, MIDDLE_RANGE = 1 << 30, (0.65, 1.2)


@dataclass(frozen=True)
class Fabric:
    """The network between nodes: ``nics`` in each node, ``rate`` of one in GB/s one way (400 Gbit/s: 50.0)."""

    nics: int
    rate: float
    #: ``infiniband``, ``roce``, ``efa`` or ``socket``.
    kind: str = "infiniband"
    #: Whether the NICs read and write the GPUs' memory; otherwise all goes through host memory.
    gpudirect: bool = True


def parse_nics(text: str) -> tuple[int, float]:
    """Number of NICs and Gbit/s of each, of ``8x400``. Raises ``NearfarError`` for anything else."""
    nics = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,6}(?:\.[0-9]{1,6})?)", text)
    if nics is None or not int(nics[1]) or not float(nics[2]):
        raise NearfarError(f"--nics {text}: give their number and Gbit/s of each, e.g. 8x400")
    return int(nics[1]), float(nics[2])


@dataclass(frozen=True)
class ExpectedBandwidth:
    """What nccl-tests should print as bus bandwidth, GB/s."""

    collective: str
    gpus: tuple[int, ...]
    nodes: int
    #: The size that it is expected at; None: any large one.
    bytes: int | None
    typical: float
    low: float
    high: float
    #: The part that limits it, by nearfar's name of it: ``g0.out``, ``g3.d2h``, ``g0-g4``, ``switch:…``, ``nic``.
    limit: str
    #: ``ring``, ``tree``, ``nvls``, ``nvls_tree`` or ``pairwise``.
    algorithm: str
    #: ``nvlink``, ``pcie`` (peers), ``shm`` (host memory); between nodes ``ib_gdr``, ``ib`` or ``socket``.
    transport: str
    #: Where the limit's figure is from: ``measured`` on this node type, ``typical`` of healthy machines, ``ceiling`` of its link.
    basis: str


@dataclass(frozen=True)
class _Way:
    """An algorithm with the bus bandwidth (GB/s) that it reaches at any large size, and the latency of its steps in seconds."""

    algorithm: str
    rate: float
    limit: LinkRate
    latency: float


def expected(
    node: Node | NodeType,
    collective: str,
    gpus: Sequence[int] | None = None,
    bytes: int | None = None,
    nodes: int = 1,
    *,
    fabric: Fabric | None = None,
    transport: str | None = None,
    nvls: bool | None = None,
    algorithm: str | None = None,
) -> ExpectedBandwidth:
    """What the collective should reach among ``gpus`` (all of them) of each of ``nodes`` such nodes, at ``bytes`` (None: any large size).

    ``fabric`` is needed for more than one node. ``transport`` (``nvlink``, ``pcie``, ``shm``), ``nvls`` and ``algorithm`` (``ring``,
    ``tree``) ask what it would reach with those; None: what a healthy node uses. Raises ``NearfarError`` for what the node lacks.
    """
    node_type = node if isinstance(node, NodeType) else NodeType(node.hostname, node, implied_capacities(node))
    chosen = _checked(node_type, collective, gpus, bytes, nodes, fabric, transport)
    inside = links.within(node_type, chosen, transport)
    ways = list(_ways(collective, inside, len(chosen), nodes, fabric, nvls is not False))
    wanted = [way for way in ways if algorithm is None or algorithm in way.algorithm]
    if not wanted:
        raise NearfarError(
            f"algorithm '{algorithm}': {collective} there uses {', '.join(way.algorithm for way in ways)}"
        )
    # NCCL takes the algorithm that it expects to be the fastest at this size.
    start = LAUNCH + (NETWORK_LAUNCH[fabric.kind] if fabric is not None and nodes > 1 else 0.0)
    rates = {way: _at_size(way, bytes, _factor(collective, len(chosen) * nodes), start) for way in wanted}
    best = max(wanted, key=lambda way: rates[way])
    of_network = nodes > 1 and (best.limit.part == "nic" or inside.transport == "nvlink")
    name = links.NETWORK if of_network else inside.transport
    low, high = _range(name, bytes, pair=len(chosen) * nodes == 2 or collective == "sendrecv")
    return ExpectedBandwidth(
        collective=collective,
        gpus=chosen,
        nodes=nodes,
        bytes=bytes,
        typical=rates[best],
        low=rates[best] * low,
        high=rates[best] * high,
        limit=best.limit.part,
        algorithm=best.algorithm,
        transport=inside.transport if fabric is None or nodes == 1 else _between(fabric),
        basis=best.limit.basis,
    )


def _checked(
    node_type: NodeType,
    collective: str,
    gpus: Sequence[int] | None,
    bytes: int | None,
    nodes: int,
    fabric: Fabric | None,
    transport: str | None,
) -> tuple[int, ...]:
    """The GPUs that take part; raises ``NearfarError`` for what makes no sense."""
    if collective not in COLLECTIVES:
        raise NearfarError(f"unknown collective '{collective}'{did_you_mean(collective, list(COLLECTIVES))}")
    has = [gpu.index for gpu in node_type.node.gpus]
    chosen = tuple(has if gpus is None else gpus)
    for gpu in chosen:
        if gpu not in has:
            raise NearfarError(
                f"{node_type.name} has no g{gpu}; its GPUs are {', '.join(f'g{index}' for index in has) or 'none'}"
            )
    if len(set(chosen)) != len(chosen):
        raise NearfarError(f"GPUs {','.join(map(str, chosen))}: one is listed twice")
    if nodes < 1 or not chosen or nodes * len(chosen) < 2:
        raise NearfarError(f"{collective} needs two GPUs, of one node or of several; {nodes * len(chosen)} given")
    if bytes is not None and bytes < 1:
        raise NearfarError(f"{bytes} bytes: give a size above 0")
    if nodes > 1 and fabric is None:
        raise NearfarError(f"{nodes} nodes: the network between them is not known; give its NICs")
    if transport not in (None, *TRANSPORTS):
        raise NearfarError(f"transport '{transport}': it is nvlink, pcie or shm")
    if fabric is not None and fabric.kind not in NETWORKS:
        raise NearfarError(f"network '{fabric.kind}': it is {', '.join(NETWORKS)}")
    return chosen


def _range(name: str, bytes: int | None, pair: bool) -> tuple[float, float]:
    """Least and greatest of healthy runs, by what is expected; of a ``pair`` NCCL may use too few channels."""
    if bytes is not None and bytes < SMALL:
        return SMALL_RANGE
    if pair and name == "nvlink":
        return PAIR_RANGE
    return MIDDLE_RANGE if name == links.NETWORK and bytes is not None and bytes < MIDDLE else RANGE[name]


def _between(fabric: Fabric) -> str:
    return "socket" if fabric.kind == "socket" else "ib_gdr" if fabric.gpudirect else "ib"


def _factor(collective: str, ranks: int) -> float:
    """Bus bandwidth over data size by time, as nccl-tests defines it."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return 1.0 if collective in ("broadcast", "sendrecv") else (ranks - 1) / ranks


def _ways(
    collective: str, inside: links.Inside, gpus: int, nodes: int, fabric: Fabric | None, nvls: bool
) -> Iterator[_Way]:
    """The algorithms that NCCL has for the collective there."""
    ranks, step = gpus * nodes, STEP[inside.transport]
    nics = None if fabric is None or nodes == 1 else _nics(fabric, inside)
    if collective in ("alltoall", "sendrecv"):
        yield _pairwise(collective, inside, gpus, nodes, nics, step, fabric.nics if fabric else 1)
        return
    steps = (2 if collective == "all_reduce" else 1) * (ranks - 1)
    latency = steps * step + (2 * NETWORK_STEP if nics else 0.0)
    ring = inside.one_way if collective == "broadcast" and ranks == 2 and inside.one_way is not None else inside.ring
    slowest = min(filter(None, (ring if gpus > 1 else None, nics)), key=lambda one: one.rate)
    rate = slowest.rate
    if nics is None and collective in ("all_gather", "reduce_scatter"):
        rate = 1 / (1 / rate + 1 / (OWN_PART * (ranks - 1)))
    yield _Way("ring", rate, slowest, latency)
    if collective != "all_reduce":
        return
    factor = _factor(collective, ranks)
    reduced = _in_switch(inside, gpus) if nvls else None
    if nics is None:
        if reduced is not None:
            yield _Way("nvls", reduced.rate * factor, reduced, NVLS_STEPS)
        return
    # A tree between nodes: two of them share the data, so that a NIC carries it once between two nodes, else twice.
    network = replace(nics, rate=nics.rate * TREE_EFFICIENCY / (1 if nodes == 2 else 2))
    hops = 2 * math.ceil(math.log2(nodes)) * NETWORK_STEP
    if gpus == 1:
        yield _Way("tree", network.rate * factor, network, hops)
        return
    # Inside a node the tree is a chain of GPUs, over which the data goes up and down.
    handed_on = replace(inside.ring, rate=inside.ring.rate / 2 * TREE_EFFICIENCY)
    chain = min(handed_on, network, key=lambda one: one.rate)
    yield _Way("tree", chain.rate * factor, chain, hops + 2 * gpus * step)
    if reduced is not None:
        handed = replace(reduced, rate=reduced.rate * TREE_EFFICIENCY)
        both = min(handed, network, key=lambda one: one.rate)
        yield _Way("nvls_tree", both.rate * factor, both, hops + NVLS_STEPS)


def _in_switch(inside: links.Inside, gpus: int) -> LinkRate | None:
    """What GPUs reduce in the switch, data size by time: each sends all of its data and one share of the result."""
    efficiency = NVLS_EFFICIENCY.get(inside.switch_generation or 0)
    if efficiency is None or gpus < 3:
        return None
    return replace(inside.ring, rate=inside.ring.rate * efficiency / (1 + 1 / gpus))


def _nics(fabric: Fabric, inside: links.Inside) -> LinkRate:
    """What a node's NICs carry one way; without GPUDirect at most what the GPUs' links carry through host memory."""
    rate = fabric.nics * fabric.rate * NETWORK_EFFICIENCY[fabric.kind]
    if not fabric.gpudirect and inside.host is not None and inside.host.rate * fabric.nics < rate:
        return replace(inside.host, rate=inside.host.rate * fabric.nics)
    return LinkRate("nic", rate, "ceiling")


def _pairwise(
    collective: str, inside: links.Inside, gpus: int, nodes: int, nics: LinkRate | None, step: float, lines: int
) -> _Way:
    """Each with each, or each with the next: what leaves a GPU within its node, and what leaves the node."""
    ranks = gpus * nodes
    if collective == "sendrecv":
        rates = [inside.ring] if gpus > 1 else []
        rates += (
            [] if nics is None else [replace(nics, rate=nics.rate / lines)]
        )  # one GPU of a node sends to the next node
        slowest = min(rates, key=lambda one: one.rate)
        return _Way("pairwise", slowest.rate, slowest, step + (NETWORK_STEP if nics else 0.0))
    rates = [] if gpus == 1 else [replace(inside.ring, rate=inside.ring.rate * (ranks - 1) / (gpus - 1))]
    if nics is not None:
        rates.append(replace(nics, rate=nics.rate / gpus * (ranks - 1) / (ranks - gpus)))
    slowest = min(rates, key=lambda one: one.rate)
    return _Way("pairwise", slowest.rate, slowest, (ranks - 1) * step + (NETWORK_STEP if nics else 0.0))


def _at_size(way: _Way, bytes: int | None, factor: float, start: float) -> float:
    """Bus bandwidth at a size, GB/s: pieces of the best size pass through all steps, so that the times of steps and data mix."""
    if bytes is None:
        return way.rate
    seconds = start + (math.sqrt(way.latency) + math.sqrt(bytes * factor / way.rate / 1e9)) ** 2
    return bytes * factor / seconds / 1e9
