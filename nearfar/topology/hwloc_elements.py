"""What elements of hwloc's XML say: numbers, sets, the speed of a link, distances, and links between GPUs (the matrices
``NVLinkBandwidth`` and ``XGMIBandwidth``, MB/s, of an hwloc built with NVML, or with ROCm's SMI); what cannot be read is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from xml.etree import ElementTree

from nearfar.base import NearfarError

from .bitmaps import parse_bitmap, parse_number
from .parts import Gpu, Link
from .pci import normal_bus_id


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
        return {pair: value for pair, value in zip(product(indices, indices), values) if known.issuperset(pair)}
    return {}


def numbers(matrix: ElementTree.Element, tag: str) -> list[int]:
    """The numbers of a matrix's elements called ``tag``."""
    values = [parse_number(word) for word in _words(matrix, tag)]
    if None in values:
        raise NearfarError(f"hwloc XML: <{tag}> of the distances holds something that is not a number")
    return [value for value in values if value is not None]


def _words(matrix: ElementTree.Element, tag: str) -> list[str]:
    return [word for element in matrix.findall(tag) for word in (element.text or "").split()]


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


#: MB/s of one lane in one direction, as hwloc counts: 20000 for the first generation, 25000 since.
_FIRST_GENERATION, _LATER_GENERATIONS = 20000, 25000

Peers = dict[tuple[int, int], str]


def nvlinks_from_distances(root: ElementTree.Element, gpus: tuple[Gpu, ...]) -> tuple[tuple[Gpu, ...], Peers]:
    """The GPUs with their lanes and, where a package is the other end, their link to the host; and the linked pairs.

    A GPU's lanes to NVSwitches lead to every other GPU on a switch. The rate tells only the first generation apart.
    """
    bandwidth = _matrix(root, "NVLinkBandwidth")
    if not bandwidth:
        return gpus, {}
    ends = _ends(root, gpus)
    between: dict[tuple[int, int], int] = {}
    to_switch: dict[int, int] = {}
    to_host: dict[int, int] = {}
    for (a, b), rate in bandwidth.items():
        end, other_end = ends.get(a), ends.get(b)
        if a == b or not rate or not isinstance(end, int):
            continue
        if isinstance(other_end, int):
            between[end, other_end] = rate
        elif other_end == "host":
            to_host[end] = to_host.get(end, 0) + rate
        else:
            to_switch[end] = to_switch.get(end, 0) + rate
    peers = {(a, b): f"NV{_lanes(rate)}" for (a, b), rate in sorted(between.items()) if a < b}
    for first, second in combinations(sorted(to_switch), 2):
        lanes = min(_lanes(to_switch[first]), _lanes(to_switch[second]))
        peers.setdefault((first, second), f"NV{lanes}")
    linked = []
    for gpu in gpus:
        total = to_switch.get(gpu.index, 0) + sum(r for (a, _), r in between.items() if a == gpu.index)
        # Lanes to a package are of POWER processors, which have the first generation or the second.
        generation = 1 if total % _LATER_GENERATIONS else None
        if gpu.index in to_host:
            generation = 1 if to_host[gpu.index] % _LATER_GENERATIONS else 2
            lanes = _lanes(to_host[gpu.index])
            gpu = replace(gpu, link=Link("nvlink", generation, lanes, generation, lanes))
        if total:
            gpu = replace(gpu, nvlinks=_lanes(total), nvlink_generation=generation)
        linked.append(gpu)
    return tuple(linked), peers


def xgmi_from_distances(root: ElementTree.Element, gpus: tuple[Gpu, ...]) -> Peers:
    """The pairs of GPUs that xGMI joins. The rates do not tell its lanes: hwloc writes the same for all pairs."""
    ends = _ends(root, gpus) if (bandwidth := _matrix(root, "XGMIBandwidth")) else {}
    joined = [(ends.get(a), ends.get(b)) for (a, b), rate in bandwidth.items() if rate]
    return {(a, b): "XGMI" for a, b in joined if isinstance(a, int) and isinstance(b, int) and a < b}


def _lanes(rate: int) -> int:
    """Lanes of a rate in MB/s; one that both lane rates divide is a later generation's (the first has four lanes)."""
    return rate // _LATER_GENERATIONS if rate % _LATER_GENERATIONS == 0 else max(1, rate // _FIRST_GENERATION)


def _matrix(root: ElementTree.Element, name: str) -> dict[tuple[str, str], int]:
    for matrix in [*root.findall("distances2hetero"), *root.findall("distances2")]:
        if matrix.get("name") != name:
            continue
        # A list of one type has bare numbers, a mixed one has Type:number; both count in gp_index.
        names = [word.rpartition(":")[2] for word in _words(matrix, "indexes")]
        rates = [parse_number(word) for word in _words(matrix, "u64values")]
        if len(rates) != len(names) ** 2 or None in rates:
            raise NearfarError(f"hwloc XML: the {name} matrix of {len(names)} objects is not whole")
        return {pair: rate for pair, rate in zip(product(names, names), rates) if rate is not None}
    return {}


def _ends(root: ElementTree.Element, gpus: tuple[Gpu, ...]) -> dict[str, int | str]:
    """gp_index of an object -> the GPU's index, ``host`` for a processor package, ``switch`` for any other device."""
    by_pci = {g.pci: g.index for g in gpus}
    ends: dict[str, int | str] = {}
    for element in root.iter("object"):
        element_type, name = element.get("type"), element.get("gp_index", "")
        if element_type == "Package":
            ends[name] = "host"
        elif element_type == "PCIDev":
            end = by_pci.get(normal_bus_id(element.get("pci_busid", "")), "switch")
            ends.update((inner.get("gp_index", ""), end) for inner in element.iter("object"))
    return ends
