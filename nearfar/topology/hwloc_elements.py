"""What one element of hwloc's XML says: numbers, sets, distances, the speed of a link; what cannot be read is an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from nearfar.base import NearfarError

from .bitmaps import parse_bitmap, parse_number
from .parts import Link


def pci_link(element: ElementTree.Element) -> Link:
    """hwloc gives generation × width as one speed at the time of the capture; 0 stands for not known."""
    try:
        speed = float(element.get("pci_link_speed", "0"))
    except ValueError:
        raise NearfarError(f'hwloc XML: pci_link_speed="{element.get("pci_link_speed")}" is not a number') from None
    return Link("pcie", speed=speed if 0 < speed < float("inf") else None)


def distances(root: ElementTree.Element, known: set[int]) -> dict[tuple[int, int], int]:
    """The ACPI distances between NUMA nodes, by the operating system's numbers."""
    for matrix in root.findall("distances2"):
        if matrix.get("type") != "NUMANode" or matrix.get("indexing", "os") != "os":
            continue
        if matrix.get("name", "NUMALatency") != "NUMALatency":
            continue
        indices, values = numbers(matrix, "indexes"), numbers(matrix, "u64values")
        if len(values) != len(indices) ** 2:
            raise NearfarError(f"hwloc XML: {len(values)} distances for {len(indices)} NUMA nodes")
        pairs = ((a, b) for a in indices for b in indices)
        return {pair: value for pair, value in zip(pairs, values) if known.issuperset(pair)}
    return {}


def numbers(matrix: ElementTree.Element, tag: str) -> list[int]:
    """The numbers of a matrix's elements called ``tag``."""
    values = [parse_number(word) for element in matrix.findall(tag) for word in (element.text or "").split()]
    if None in values:
        raise NearfarError(f"hwloc XML: <{tag}> of the distances holds something that is not a number")
    return [value for value in values if value is not None]


def infos(element: ElementTree.Element) -> dict[str, str]:
    """An object's ``<info>`` elements by name."""
    return {info.get("name", ""): info.get("value", "") for info in element.findall("info")}


def bitmap(element: ElementTree.Element, name: str) -> frozenset[int] | None:
    """A set of CPUs or NUMA nodes; None where the attribute is not there."""
    text = element.get(name)
    return None if text is None else parse_bitmap(text)


def number(element: ElementTree.Element, name: str, default: int) -> int:
    """An attribute as a number; ``default`` where it is not there."""
    text = element.get(name)
    if text is None:
        return default
    value = parse_number(text)
    if value is None:
        raise NearfarError(f'hwloc XML: {element.get("type")} has {name}="{text}", which is not a number')
    return value


def no_repeats(values: Sequence[int | str], what: str) -> None:
    """Raises ``NearfarError`` where a value is there twice."""
    for value, times in Counter(values).items():
        if times > 1:
            raise NearfarError(f"hwloc XML: {what} {value} is there {times} times")
