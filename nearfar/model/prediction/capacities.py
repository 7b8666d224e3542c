"""Capacities, what flows share: those that a node's topology implies, with what their links can carry at most, and by the GPUs' model
(``site/gpus/``) what their memory and an xGMI link carry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base import SiteFile, site_files
from nearfar.topology import Link, Node, behind_nvswitch, shared_uplinks

from .ceilings import lanes_ceiling, link_ceiling

_AS_CAPTURED = "its link's speed when the XML was captured, which is low on an idle GPU"
_AS_BELOW = "taken to be as wide as the widest link of its GPUs"


@dataclass(frozen=True)
class Capacity:
    """What flows share, or what a cell carries alone (then ``name`` is the cell). ``value`` and ``peak`` in ``unit``.

    ``value`` is ``None`` where it is not known; ``source`` then says why. ``peak`` is what the hardware cannot
    exceed; ``nominal`` stands in where that is not known (``nominal_words`` say where it is from).
    ``published`` tells a value that was measured and stands in the source from one that was derived from it or ``assumed``; ``place`` is
    where it stands. ``read_share`` is
    what a read beside a write of its own GPU gets of what the others get, once this memory is full; ``mixed_weight`` is
    what a byte costs it, of the cost alone, in a cell in which GPUs both read and write it. ``told_by`` is the cell of which a cap
    would tell what nothing of this name in a file can.
    """

    name: str
    value: float | None = None
    unit: str = "GB/s"
    source: str = "the node type does not give it"
    published: bool = False
    assumed: bool = False
    place: str = ""
    peak: float | None = None
    nominal: float | None = None
    nominal_words: str = ""
    read_weight: float = 1.0
    write_weight: float = 1.0
    read_share: float = 1.0
    mixed_weight: float = 1.0
    told_by: str = ""

    def within(self, implied: Capacity) -> Capacity:
        """With the limits that the topology implies, where it has none of its own."""
        if self.peak is not None or implied.peak is not None:
            return replace(self, peak=self.peak or implied.peak)
        return replace(self, nominal=implied.nominal, nominal_words=implied.nominal_words)

    @property
    def best(self) -> float | None:
        """What it carries at best where its value is not known, GB/s: its peak, else what is nominal; None: no limit is known."""
        return self.nominal if self.peak is None else self.peak


def implied_capacities(node: Node, uplinks: Mapping[str, Link] | None = None) -> dict[str, Capacity]:
    """Every capacity that the node's topology implies, with no value; links, shared uplinks (``uplinks``: their links, by bridge),
    host memory and NVLink lanes of GPUs with their ceiling as the peak, or with what is nominal where the peak is not known."""
    capacities: list[Capacity] = []
    for gpu in node.gpus:
        capacities += _of_link(f"g{gpu.index}", ("h2d", "d2h"), gpu.link)
    capacities += [Capacity(f"g{gpu.index}.memory") for gpu in node.gpus]
    capacities += [Capacity(f"n{memory.index}.memory", peak=memory.peak) for memory in node.host_numa_nodes]
    packages = [package.index for package in node.packages]
    capacities += [Capacity(f"p{a}-p{b}") for a in packages for b in packages if a != b]
    for pci, gpus in switches(node).items():
        below = [gpu.link for gpu in node.gpus if gpu.index in gpus]
        capacities += _of_uplink(f"switch:{pci}", (uplinks or {}).get(pci), below)
    capacities += [
        Capacity(f"g{gpu}.{way}", peak=lanes_ceiling(node, gpu))
        for gpu in behind_nvswitch(node)
        for way in ("out", "in")
    ]
    return {capacity.name: capacity for capacity in capacities}


def switches(node: Node) -> dict[str, tuple[int, ...]]:
    """The PCI bridges that several GPUs share: bus id -> GPUs."""
    shared = {
        pci: tuple(int(name[1:]) for name in names if re.fullmatch(r"g\d+", name))
        for pci, names in shared_uplinks(node).items()
    }
    return {pci: gpus for pci, gpus in shared.items() if len(gpus) > 1}


def _of_link(name: str, ways: tuple[str, str], link: Link) -> Iterator[Capacity]:
    """Both directions of a link (``ways``: their names, from the host and towards it), and both at once."""
    ceiling, speed = link_ceiling(link), link.speed if link.kind == "pcie" else None
    for way, times in ((ways[0], 1), (ways[1], 1), ("both", 2)):
        if ceiling is not None:
            yield Capacity(f"{name}.{way}", peak=ceiling * times)
        else:
            nominal = None if speed is None else speed * times
            yield Capacity(f"{name}.{way}", nominal=nominal, nominal_words="" if nominal is None else _AS_CAPTURED)


def _of_uplink(name: str, link: Link | None, below: Sequence[Link]) -> Iterator[Capacity]:
    """Both directions of a shared uplink and both at once; where its own link is not known as wide as those below it."""
    if link is not None:
        yield from _of_link(name, ("down", "up"), link)
        return
    known = [best for link in below if (best := next(_of_link(name, ("down", "up"), link)).best) is not None]
    nominal = max(known, default=None)
    for way in ("down", "up"):
        yield Capacity(f"{name}.{way}", nominal=nominal, nominal_words="" if nominal is None else _AS_BELOW)
    yield Capacity(f"{name}.both")


def with_nominal_rates(
    capacities: Mapping[str, Capacity], node: Node, directories: Sequence[Path]
) -> dict[str, Capacity]:
    """The capacities, those of GPUs' memory with the nominal rate of their model as what is nominal.

    A figure of the node type stands before it; a model of which no file says anything stays unknown. Raises ``SiteFileError`` for
    a file of a GPU model that cannot be read.
    """
    rates = _nominal_rates(directories, "memory") if node.gpus else {}
    named = dict(capacities)
    for gpu in node.gpus:
        rate, source_words = rates.get(gpu.name or "", (None, ""))
        memory = named[f"g{gpu.index}.memory"]
        if rate is not None and memory.best is None:
            source = memory.source if memory.value is not None else "no figure of this node type is given"
            named[memory.name] = replace(memory, nominal=rate, nominal_words=source_words, source=source)
    return named


def xgmi_rate(node: Node, directories: Sequence[Path]) -> float | None:
    """The line rate of one xGMI link of the node's GPUs in one direction, GB/s; None where it has none or its model's file has no rate."""
    if "XGMI" not in node.peers.values():
        return None
    return _nominal_rates(directories, "xgmi").get(node.gpus[0].name or "", (None, ""))[0]


def _nominal_rates(directories: Sequence[Path], part: str) -> dict[str, tuple[float, str]]:
    """GB/s of a part of GPUs and where they are published, by GPU model; the first directory that has a model counts."""
    rates: dict[str, tuple[float, str]] = {}
    for path in site_files("gpus", list(directories)).values():
        file = SiteFile(path)
        file.check("gpu-1")
        entry = file.data.get(part)
        for model in file.data["gpu_models"] if entry else ():
            rates.setdefault(model, (float(entry["bandwidth"]), entry["source"]))
    return rates
