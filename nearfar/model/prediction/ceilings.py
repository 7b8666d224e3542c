"""Physical ceilings of a link between a GPU and its host: what it signals, and what of that can be payload.

All rates are GB/s (1e9 bytes per second) in one direction. ``None`` wherever a figure is not known: nothing is
guessed. The programs have the same rules (src/node/link_ceiling.cpp); tests/vectors/ceilings.txt holds both to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearfar.cells import Flow
from nearfar.topology import Link, Node

#: PCIe: transfers per second and lane (GT/s), and the part of them that the encoding leaves. Generation 6 sends flits
#: of 256 bytes, of which 236 are transaction packets.
_PCIE = {
    1: (2.5, 8 / 10),
    2: (5.0, 8 / 10),
    3: (8.0, 128 / 130),
    4: (16.0, 128 / 130),
    5: (32.0, 128 / 130),
    6: (64.0, 236 / 256),
}
#: Bytes around the payload of a packet: framing 4, header of three words 12, CRC 4. So are the completions of a GPU's reads, and its writes
#: where an IOMMU gives it addresses below 4 GiB; above, a write's header has a fourth word. Flits frame and protect packets themselves.
_PCIE_OVERHEAD, _PCIE_OVERHEAD_IN_FLITS = 20, 12
_FIRST_GENERATION_WITH_FLITS = 6
#: NVLink: GB/s of a lane ("brick") in one direction, by generation (sources: benchmarks/studies/prediction.md). Of generation 2 it is what
#: the lanes signal, 8 pairs × 25.78125 Gbit/s: its payload is above 16/17 of the 25 GB/s that it is named for.
_NVLINK = {1: 20.0, 2: 25.78125, 3: 25.0, 4: 25.0, 5: 50.0}
#: Lanes that the PCI Express slot of a GPU can have, and those of NVLink that a GPU has at most, by generation.
_PCIE_WIDTHS = (1, 2, 4, 8, 12, 16)
_MOST_LANES = {1: 4, 2: 6, 3: 12, 4: 18, 5: 18}


def link_fault(link: Mapping[str, Any]) -> str:
    """Why no GPU has a link (``kind``, without it PCIe; ``gen``, ``width``); empty where it can be."""
    kind, generation, width = link.get("kind", "pcie"), link.get("gen"), link.get("width")
    if kind == "nvlink":
        return lanes_fault(width, generation)
    if kind != "pcie":
        return ""
    if width is not None and width not in _PCIE_WIDTHS:
        return f"width: {width} lanes of PCI Express, which no GPU has; x16 is usual"
    if generation is not None and generation not in _PCIE:
        return f"gen: there is no PCI Express {generation}"
    return ""


def lanes_fault(lanes: int | None, generation: int | None) -> str:
    """Why no GPU has so many lanes of a generation of NVLink; empty where one can."""
    if generation is None:
        return ""
    most = _MOST_LANES.get(generation)
    if most is None:
        return f"there is no NVLink {generation}"
    return f"{lanes} lanes of NVLink {generation}, of which no GPU has more than {most}" if (lanes or 0) > most else ""


def line_rate(link: Link) -> float | None:
    """What the link carries in one direction, packet headers included: no figure can be above it.

    Generation and width are the greatest that device and slot allow where those are known, else those given.
    """
    generation, width = link.nominal.gen, link.nominal.width
    if link.kind == "c2c":
        return link.speed
    if generation is None or width is None:
        return None
    if link.kind == "nvlink":
        return _NVLINK[generation] * width if generation in _NVLINK else None
    if generation not in _PCIE:
        return None
    transfers, encoding = _PCIE[generation]
    return transfers * encoding * width / 8


def link_ceiling(link: Link) -> float | None:
    """What of the line rate can be payload, in either direction.

    A packet has 256 bytes of it on PCIe 3 and later; 128 on PCIe 1 and 2, whose GPUs (up to the Fermi generation) announce no more.
    NVLink packs 256 bytes into 16 flits with one flit of header, in generation 4 with two; of generation 5 nobody states it, and one is
    the most that can be payload. C2C: the rate that the driver states.
    """
    rate = line_rate(link)
    if rate is None or link.kind == "c2c":
        return rate
    generation = link.nominal.gen or 0
    if link.kind == "nvlink":
        return rate * 16 / (18 if generation == 4 else 17)
    overhead = _PCIE_OVERHEAD if generation < _FIRST_GENERATION_WITH_FLITS else _PCIE_OVERHEAD_IN_FLITS
    payload = 128 if generation <= 2 else 256
    return rate * payload / (payload + overhead)


def peer_link(node: Node, a: int, b: int) -> Link | None:
    """The NVLink between two GPUs, with lanes and generation; ``None`` where there is none or its generation is not
    known."""
    lanes = re.fullmatch(r"NV(\d+)", node.peer(a, b))
    generations = {gpu.nvlink_generation for gpu in (node.gpu(a), node.gpu(b)) if gpu is not None}
    generation = generations.pop() if len(generations) == 1 else None
    if lanes is None or generation is None:
        return None
    return Link("nvlink", generation, int(lanes.group(1)))


def flow_link(flow: Flow, node: Node) -> Link | None:
    """The one link that a flow crosses: its GPU's to the host, or the NVLink between two GPUs; ``None`` where it crosses none or two, or
    it is not known."""
    if flow.kind == "peer" and not flow.staged:
        return peer_link(node, *flow.gpus)
    gpu = node.gpu(flow.gpus[0]) if flow.kind == "host" else None
    return None if gpu is None else gpu.link


def lanes_ceiling(node: Node, index: int) -> float | None:
    """What of all of a GPU's NVLink lanes together can be payload in one direction; ``None`` where their number or
    generation is not known."""
    gpu = node.gpu(index)
    if gpu is None or not gpu.nvlinks or gpu.nvlink_generation is None:
        return None
    return link_ceiling(Link("nvlink", gpu.nvlink_generation, gpu.nvlinks))
