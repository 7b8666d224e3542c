"""What the memory of each NUMA node carries at most, by the DIMMs behind it: speed × 8 bytes × channels that have a DIMM."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from .parts import Node, NumaNode
from .smbios import MemoryDevice

#: Kinds of memory whose channels move 64 bits a transfer, with the fewest and the most transfers (MT/s) that any of them is set to.
#: A DDR5 DIMM has two channels of half the width, which are counted as one.
_SPEEDS = {"DDR2": (400, 1066), "DDR3": (800, 2133), "DDR4": (1333, 5333), "DDR5": (3200, 12800)}
_WIDTH = 64
#: Of a package, and of one channel: where the firmware names more DIMMs, it gives them all one place.
_MOST_CHANNELS, _MOST_DIMMS = 16, 3
#: The DIMMs' sizes together over the memory that the node shows: the kernel and the firmware keep some of it.
_LEAST_SIZE, _MOST_SIZE = 0.98, 1.15
#: NUMA nodes of one package that are as large as each other within this part share its channels evenly.
_ALIKE = 0.1

#: How firmware names the place of a DIMM (its bank or its own locator) where that says package and channel. ``package`` may be the
#: number of a NUMA node; without it there is one package. A bare letter with a number (``A1``) is a channel with some vendors and a
#: package with others.
_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"P(?P<package>\d+)[ _](?P<channel>Node\d+[ _]Channel[ ]?\d+)[ _]DIMM[ ]?\d+",
        r"P(?P<package>\d+)[ _]CHANNEL[ ]?(?P<channel>[A-Z0-9]+)",
        r"_?NODE[ ]?(?P<package>\d+)[ _]CHANNEL[ ]?(?P<channel>\d+)[ _]DIMM[ ]?\d+",
        r"(?:PROC|CPU|P)[ ]?(?P<package>\d+)[ _-]?DIMM[ _-]?(?P<channel>[A-Z])\d",
        r"DIMM_P(?P<package>\d+)_(?P<channel>[A-Z])\d",
        r"CPU(?P<package>\d+)_C(?P<channel>\d+)D\d+",
        r"(?P<channel>(?:Controller\d+-)?Channel[A-Z])-DIMM\d+",
    )
)


class UnknownPeakError(Exception):
    """Why the peak of host memory is not known, in words."""


def memory_peaks(node: Node, devices: Sequence[MemoryDevice]) -> dict[int, float]:
    """GB/s (1e9 bytes per second) by NUMA node with host memory and CPUs. Raises ``UnknownPeakError`` wherever a step would be a guess."""
    present = [device for device in devices if device.size != 0 and device.volatile]
    _check(node, present)
    by_package = _by_package(node, devices, present)
    numa = [memory for memory in node.host_numa_nodes if memory.cpus]
    if len(numa) != len(node.host_numa_nodes):
        raise UnknownPeakError("some host memory has no CPUs of its own, and its kind is not reported")
    if len(numa) == 1:
        return {numa[0].index: sum(map(sum, by_package.values()))}
    peaks: dict[int, float] = {}
    for package, nodes in groupby(sorted(numa, key=_package), key=_package):
        peaks |= _shared(by_package.get(package, []), list(nodes))
    return peaks


def with_peaks_of(node: Node, observed: Node | None) -> Node:
    """A node as it should be, with the peak of each memory that nobody declares and that the machine at hand knows."""
    if observed is None:
        return node
    known = {numa.index: numa.peak for numa in observed.host_numa_nodes}
    whole = (numa if numa.peak is not None else replace(numa, peak=known.get(numa.index)) for numa in node.numa_nodes)
    return replace(node, numa_nodes=tuple(whole))


def channels_in_words(node: Node, devices: Sequence[MemoryDevice]) -> str:
    """``16 channels of DDR5-4800``, of DIMMs of which ``memory_peaks`` is known."""
    present = [device for device in devices if device.size != 0 and device.volatile]
    count = sum(map(len, _by_package(node, devices, present).values()))
    types = dict.fromkeys(f"{device.kind}-{device.speed}" for device in present)
    return f"{count} channel{'' if count == 1 else 's'} of {' and '.join(types)}"


def _check(node: Node, present: Sequence[MemoryDevice]) -> None:
    """That the table speaks of this machine's memory, and of one whose channels are known."""
    if not present:
        raise UnknownPeakError("the firmware lists no DIMM")
    if any(device.size is None for device in present):
        raise UnknownPeakError("the firmware does not report how large each DIMM is")
    for device in present:
        name = device.locator or device.bank or "a DIMM"
        if device.kind not in _SPEEDS:
            raise UnknownPeakError(f"{name} is memory of kind {device.kind or 'unknown'}, whose channels are not known")
        if device.speed is None:
            raise UnknownPeakError(f"the firmware does not report what speed {name} is set to")
        least, most = _SPEEDS[device.kind]
        if not least <= device.speed <= most:
            raise UnknownPeakError(f"{name} is set to {device.speed} MT/s, which no {device.kind} is")
        if device.rated is not None and device.rated in (2 * device.speed, 2 * device.speed + 1):
            problem = f"{name} is set to {device.speed}, half of its {device.rated} MT/s"
            raise UnknownPeakError(f"{problem}: the clock and not the transfers, or really so slow")
        if device.width != _WIDTH:
            raise UnknownPeakError(f"{name} has {device.width or 'an unknown number of'} bits of data, not {_WIDTH}")
    memory = sum(numa.memory for numa in node.host_numa_nodes)
    size = sum(device.size or 0 for device in present)
    if not _LEAST_SIZE * memory <= size <= _MOST_SIZE * memory:
        gib = 1 << 30
        raise UnknownPeakError(f"the firmware's DIMMs have {size / gib:.0f} GiB, and this node {memory / gib:.0f} GiB")


def _by_package(
    node: Node, devices: Sequence[MemoryDevice], present: Sequence[MemoryDevice]
) -> dict[int | None, list[float]]:
    """GB/s of each channel that has a DIMM, by package: the slowest DIMM of a channel counts."""
    places = _places(present)
    if places is None:
        named = present[0].locator or present[0].bank
        raise UnknownPeakError(f"the DIMMs' places ('{named}') do not show which channel each is on")
    numbers = _numbers(node, devices, [package for package, _ in places])
    channels: dict[tuple[int | None, str], list[float]] = {}
    for device, (package, channel) in zip(present, places, strict=True):
        rate = (device.speed or 0) * _WIDTH / 8 / 1000
        channels.setdefault((numbers[package], channel), []).append(rate)
    rates_by_package: dict[int | None, list[float]] = {}
    for (number, channel), rates in channels.items():
        if len(rates) > _MOST_DIMMS:
            raise UnknownPeakError(f"the DIMMs' places name {len(rates)} DIMMs of one channel ({channel})")
        rates_by_package.setdefault(number, []).append(min(rates))
    most = max(map(len, rates_by_package.values()))
    if most > _MOST_CHANNELS:
        raise UnknownPeakError(f"the DIMMs' places name {most} channels of one package")
    return rates_by_package


def _numbers(
    node: Node, devices: Sequence[MemoryDevice], named: Sequence[str | None]
) -> Mapping[str | None, int | None]:
    """Which package the firmware's word for one is: in their order, where there are as many."""
    indices = sorted(package.index for package in node.packages)
    if len(indices) < 2:
        return dict.fromkeys(named, indices[0] if indices else None)
    # Empty slots name the packages that have no memory.
    every = _places(devices)
    for names in ({package for package, _ in every} if every else set(), set(named)):
        ordered = sorted((name for name in names if name is not None), key=int)
        if len(ordered) == len(indices) == len(names):
            return dict(zip(ordered, indices))
    raise UnknownPeakError(
        f"the DIMMs' places name {len(set(named))} packages or nodes, and there are {len(indices)} packages"
    )


def _places(devices: Sequence[MemoryDevice]) -> list[tuple[str | None, str]] | None:
    """Package and channel of each device by the first pattern that all places of one field have; None where there is none."""
    for pattern in _PLACES:
        for field in ("bank", "locator"):
            matches = [pattern.fullmatch(getattr(device, field)) for device in devices]
            if matches and all(matches):
                return [(match.groupdict().get("package"), match["channel"].upper()) for match in matches if match]
    return None


def _package(numa: NumaNode) -> int:
    return -1 if numa.package is None else numa.package


def _shared(channels: Sequence[float], nodes: Sequence[NumaNode]) -> dict[int, float]:
    """A package's channels among its NUMA nodes."""
    if nodes[0].package is None:
        raise UnknownPeakError("the system does not report which package each NUMA node is of")
    if not channels:
        raise UnknownPeakError(f"the firmware lists no DIMM of package {nodes[0].package}")
    memories = [numa.memory for numa in nodes]
    alike = max(memories) - min(memories) <= _ALIKE * max(memories)
    if len(nodes) > 1 and (len(channels) % len(nodes) or not alike):
        raise UnknownPeakError(
            f"{len(channels)} channels of package {nodes[0].package} are not shared evenly by its {len(nodes)} NUMA nodes"
        )
    return {numa.index: sum(channels) / len(nodes) for numa in nodes}
