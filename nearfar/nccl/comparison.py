"""The expected bus bandwidth of a case on a node, and what figures as slow as another transport's say."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from nearfar.base import NearfarError
from nearfar.collective import COLLECTIVES, ExpectedBandwidth, Fabric, expected
from nearfar.model.prediction import NodeType
from nearfar.topology import Node

from .subjects import NcclCase

#: A figure is as slow as another transport's where it is less than this part above that one's range.
_LIKE = 1.15
#: What another transport reaches at most of what this one does, to be told from it.
_SLOWER = 0.7


def expected_of(
    case: NcclCase, size: int | None, node: Node | NodeType, transport: str | None = None
) -> ExpectedBandwidth | None:  # fmt: skip
    """What the case should reach; None where nobody can say: a collective, or a node, of which too little is known."""
    whole = node.node if isinstance(node, NodeType) else node
    gpus = [gpu.index for gpu in whole.gpus][: case.ranks // case.nodes]
    fabric = _fabric(whole) if case.nodes > 1 else None
    if (
        case.collective not in COLLECTIVES
        or case.nodes * len(gpus) != case.ranks
        or (case.nodes > 1 and fabric is None)
    ):
        return None
    try:
        return expected(
            node, case.collective, gpus, size, case.nodes, fabric=fabric, transport=transport, nvls=case.nvls
        )
    except NearfarError:
        return None


def has_multicast(case: NcclCase, node: Node) -> bool:
    """Whether the node's links have NVLS for such a case."""
    healthy = expected_of(NcclCase(case.collective, case.ranks // case.nodes, 1, None), None, node)
    return healthy is not None and healthy.algorithm.startswith("nvls")


def as_slow_as(case: NcclCase, size: int, busbw: float, node: Node) -> str | None:
    """What such a figure is like, where it is less than the case should reach: ``no_nvls``, ``pcie``, ``shm``; None: none of them."""
    healthy = expected_of(case, size, node)
    if healthy is None or case.nodes > 1 or busbw >= healthy.low:
        return None
    ring = expected_of(replace(case, nvls=False), size, node)
    others = {like: expected_of(replace(case, nvls=False), size, node, like) for like in ("shm", "pcie")}
    for like, other in others.items():
        if (
            other is not None
            and ring is not None
            and other.typical < _SLOWER * ring.typical
            and other.low <= busbw <= other.high * _LIKE
        ):
            return like
    return "no_nvls" if ring is not None and ring.typical < healthy.typical and busbw >= ring.low else None


@lru_cache(maxsize=64)
def _rate(text: str) -> float:
    """GB/s of the kernel's text ``400 Gb/sec (4X NDR)``; 0 where there is no number."""
    found = re.match(r"([\d.]+) Gb", text)
    return float(found[1]) / 8 if found else 0.0


def _fabric(node: Node) -> Fabric | None:
    """The network of the node's NICs, by the rates that the kernel gives; None where it gives none."""
    rates = [rate for nic in node.nics if (rate := _rate(nic.settings.get("rate", "")))]
    if not rates:
        return None
    fastest = max(rates)
    return Fabric(nics=rates.count(fastest), rate=fastest, gpudirect=node.settings.get("peermem") != "not loaded")
