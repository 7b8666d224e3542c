"""NCCL's first ring: its hops, how each is sent, and which of them limit it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from nearfar.topology import PEER_CLASSES, Node, peer_class

from .log import slowness


@dataclass(frozen=True)
class RingHop:
    """One step of the ring, from one GPU (rank) to the next."""

    source: int
    sink: int
    #: As NCCL's log has it (``P2P/CUMEM``, ``SHM``, ``NET/Socket``); empty: not in the log.
    transport: str
    #: The class of the link between the two GPUs of one node (``NV4``, ``SYS``); empty: not known.
    link: str
    #: Another hop is faster, none is slower.
    limiting: bool = False

    @property
    def words(self) -> str:
        """``GPU 3 → GPU 0: SHM, SYS``."""
        how = ", ".join(filter(None, (self.transport, self.link)))
        return f"GPU {self.source} → GPU {self.sink}" + (f": {how}" if how else "")


def ring_hops(document: Mapping[str, Any], node: Node | None) -> list[RingHop]:
    """The hops of the ring of a document of nccl-tests, in its order; none where its log does not show a ring."""
    log = (document.get("nccl") or {}).get("log") or {}
    ranks, transports = list(log.get("ring") or []), log.get("transports") or {}
    known = set() if node is None else {gpu.index for gpu in node.gpus}
    hops = []
    for source, sink in pairwise([*ranks, *ranks[:1]]):
        link = peer_class(node, source, sink) if node is not None and source != sink and {source, sink} <= known else ""
        hops.append(RingHop(source, sink, transports.get(f"{source} → {sink}", ""), link))
    ordered = [_rank(hop) for hop in hops]
    slow = max(ordered, default=None) if len(set(ordered)) > 1 else None
    return [replace(hop, limiting=rank == slow) for hop, rank in zip(hops, ordered)]


def _rank(hop: RingHop) -> tuple[int, float]:
    """Slower hops are greater."""
    lanes = re.fullmatch(r"NV(\d+)", hop.link)
    place = -int(lanes[1]) if lanes else list(PEER_CLASSES).index(hop.link) if hop.link in PEER_CLASSES else 0
    return slowness(hop.transport) if hop.transport else 0, place
