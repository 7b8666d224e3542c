"""Node types, what many nodes share: a file of ``site/nodes/`` names the hwloc XML beside it and known capacities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, Step, did_you_mean, site_files
from nearfar.cells import Cell, CellError, Flow, parse
from nearfar.topology import Gpu, Link, Node, parse_hwloc_xml

from .capacities import Capacity, implied_capacities, switches, with_nominal_rates, xgmi_rate


@dataclass(frozen=True, eq=False)
class NodeType:
    """A node with its capacities.

    ``capacities`` holds every capacity that the topology implies, the unknown ones too. ``caps`` are what cells carry
    alone where that is less than the capacities on their way. ``stream`` has STREAM by (cores, memory) and kernel,
    loads and stores counted together. ``chips``: the GPUs of each virtual PCIe switch of a chip. ``xgmi``: the line rate
    of a link, GB/s. The GPUs of ``node`` have their nominal links. ``published`` (see the schema) is
    compared with, never used as input. Two are equal only if they are one object: what follows from one is kept beside it.
    """

    name: str
    node: Node
    capacities: Mapping[str, Capacity]
    caps: Mapping[Cell, Capacity] = field(default_factory=dict)
    stream: Mapping[tuple[int, int], Mapping[str, float]] = field(default_factory=dict)
    paths_alike: bool = False
    chips: Sequence[Sequence[Sequence[int]]] = ()
    xgmi: float | None = None
    description: str = ""
    source: str = ""
    unreviewed: bool = False
    gpu_model: str | None = None
    expect: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None

    @property
    def where(self) -> str:
        """The file that a user edits, in words."""
        return f"{self.name}.yaml" if self.file is None else str(self.file)


def load_node_type(name: str, site_dirs: Sequence[Path]) -> NodeType:
    """The node type ``name`` of the first site directory that has it, with what the directories say of its GPUs' memory."""
    files = site_files("nodes", list(site_dirs))
    if name not in files:
        hint = did_you_mean(name, list(files))
        raise NearfarError(f"unknown node type '{name}'{hint}: node types are files of site/nodes/")
    node_type = from_file(SiteFile(files[name]))
    node = node_type.node
    return replace(
        node_type, capacities=with_nominal_rates(node_type.capacities, node, site_dirs), xgmi=xgmi_rate(node, site_dirs)
    )


def of_topology(
    name: str, node: Node, site_dirs: Sequence[Path], description: str = "its topology alone is known"
) -> NodeType:
    """A node type of which no capacity is given, with what the directories say of its GPUs."""
    capacities = with_nominal_rates(implied_capacities(node), node, site_dirs)
    return NodeType(name, node, capacities, xgmi=xgmi_rate(node, site_dirs), description=description)


def from_file(file: SiteFile) -> NodeType:
    """The node type that a file describes by itself."""
    file.check("node-type-1")
    data = file.data
    name = file.path.stem
    if data["node_type"] != name:
        message = f"node_type: '{data['node_type']}' in a file called {name}.yaml: use one name for both"
        raise file.error(message, "node_type")
    _check_finite(file)
    node = _node(file)
    uplinks = {key[len("switch:") :]: _link(entry) for key, entry in data.get("links", {}).items() if key[0] == "s"}
    implied = implied_capacities(node, uplinks)
    declared = {key: _capacity(key, entry) for key, entry in data.get("capacities", {}).items()}
    for key in declared:
        if key not in implied:
            raise file.error(
                f"'{key}' is not a capacity of this node{did_you_mean(key, list(implied))}", "capacities", key
            )
    capacities = {key: c.within(implied[key]) for key, c in {**implied, **declared}.items()}
    return NodeType(
        name=name,
        node=_with_memory_peaks(node, capacities),
        capacities=capacities,
        caps=dict(_cap(file, node, key) for key in data.get("caps", {})),
        stream=dict(_stream(file, node, key) for key in data.get("stream", {})),
        paths_alike=data.get("paths_alike", False),
        description=data["description"],
        source=data["source"],
        unreviewed=data.get("unreviewed", False),
        gpu_model=data.get("gpu_model"),
        expect=data.get("expect", {}),
        published=_published(file, node),
        file=file.path,
    )


def check_endpoints(node: Node, cell: Cell, name: str) -> None:
    """Refuse a cell with an endpoint that the node does not have; ``name`` is whose node it is."""
    memories = [memory.index for memory in node.host_numa_nodes]
    known = {"g": [gpu.index for gpu in node.gpus], "n": memories, "c": [numa.index for numa in node.numa_nodes]}
    for flow in cell.flows:
        ends = [(flow.source, flow.source.kind), (flow.destination, flow.destination.kind)]
        if flow.driver is not None:
            # A NUMA node drives with its cores, whether it has memory or not.
            ends.append((flow.driver, "c" if flow.driver.kind == "n" else "g"))
        for end, kind in ends:
            if end.index not in known[kind]:
                has = ", ".join(f"{end.kind}{index}" for index in known[kind]) or "none"
                raise NearfarError(f"cell '{cell}': {name} has no {end}; it has: {has}")


def _check_finite(file: SiteFile) -> None:
    """Refuse ``.nan`` and ``.inf``, which YAML calls numbers and a schema cannot tell apart."""
    for section in ("links", "capacities", "caps", "stream"):
        for key, entry in file.data.get(section, {}).items():
            for name, value in entry.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise file.error(f"{section}: {key}: {name} is not a finite number", section, key)


def _node(file: SiteFile) -> Node:
    """The node of the XML, with the file's links and GPU model."""
    data = file.data
    path = file.path.parent / data["xml"]
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise file.error(f"xml: {path}: cannot be read: {getattr(error, 'strerror', None) or error}", "xml") from None
    try:
        node = parse_hwloc_xml(text, hostname=f"{data['node_type']}-modelled")
    except NearfarError as error:
        raise file.error(f"xml: {path}: {error}", "xml") from None
    links = data.get("links", {})
    known = [*(f"g{gpu.index}" for gpu in node.gpus), *(f"switch:{pci}" for pci in switches(node))]
    for key in links:
        if key not in known:
            what = "bridge that several GPUs share" if key.startswith("switch:") else "GPU"
            raise file.error(f"links: the XML has no {what} {key}{did_you_mean(key, known)}", "links", key)

    def described(gpu: Gpu) -> Gpu:
        name = data.get("gpu_model", gpu.name)
        lanes = data.get("nvlinks") if gpu.nvlinks is None else gpu.nvlinks
        generation = gpu.nvlink_generation or data.get("nvlink_generation")
        link = _link(links[f"g{gpu.index}"]) if f"g{gpu.index}" in links else gpu.link
        return replace(gpu, name=name, link=link, nvlinks=lanes, nvlink_generation=generation)

    described_node = replace(node, gpus=tuple(map(described, node.gpus)))
    return described_node if node.peers else replace(described_node, peers=_through_a_switch(described_node, data))


def _with_memory_peaks(node: Node, capacities: Mapping[str, Capacity]) -> Node:
    """The node with what the file says that the memory of its NUMA nodes carries at most."""
    known = {numa.index: capacities[f"n{numa.index}.memory"].peak for numa in node.host_numa_nodes}
    return replace(node, numa_nodes=tuple(replace(numa, peak=known.get(numa.index)) for numa in node.numa_nodes))


def _through_a_switch(node: Node, data: Mapping[str, Any]) -> dict[tuple[int, int], str]:
    """Every pair of GPUs by the lanes that each has to the switch, where the file says that they have any."""
    lanes = data.get("nvlinks")
    indices = sorted(gpu.index for gpu in node.gpus)
    return dict.fromkeys(combinations(indices, 2), f"NV{lanes}") if lanes else {}


def _link(entry: Mapping[str, Any]) -> Link:
    gen, width = entry["gen"], entry["width"]
    return Link(entry["kind"], gen=gen, width=width, max_gen=gen, max_width=width, speed=entry.get("speed"))


def _capacity(name: str, entry: Mapping[str, Any]) -> Capacity:
    value = entry["value"]
    same = ("unit", "place", "peak", "read_weight", "write_weight", "read_share", "mixed_weight")
    return Capacity(
        name,
        None if value is None else float(value),
        source=entry.get("source") or entry["reason"],
        published=value is not None and entry.get("kind", "measured") == "measured",
        assumed=value is not None and entry.get("kind") == "assumed",
        **{key: entry[key] for key in same if key in entry},
    )


def _cap(file: SiteFile, node: Node, key: str) -> tuple[Cell, Capacity]:
    cell = _known_cell(file, node, key, "caps", key)
    if any(plain(flow) != flow for flow in cell.flows):
        message = "a cap takes no '@', /huge, /xK or /threads: they do not change what a path carries"
        raise file.error(message, "caps", key)
    return cell, _capacity(str(cell), file.data["caps"][key])


def _stream(file: SiteFile, node: Node, key: str) -> tuple[tuple[int, int], Mapping[str, float]]:
    flow = _known_cell(file, node, f"{key}/copy", "stream", key).flows[0]
    entry = file.data["stream"][key]
    rates = {kernel: float(rate) for kernel, rate in entry.items() if kernel not in ("source", "kind", "place")}
    return (flow.source.index, flow.destination.index), rates


def _published(file: SiteFile, node: Node) -> Mapping[str, Any]:
    """What was published beyond references; its cells are those of the node."""
    published: Mapping[str, Any] = file.data.get("published", {})
    for place, entry in enumerate(published.get("cells", [])):
        _known_cell(file, node, entry["cell"], "published", "cells", place)
    return published


def _known_cell(file: SiteFile, node: Node, text: str, section: str, *key: Step) -> Cell:
    """The cell that ``key`` in ``section`` speaks of; errors name its line."""
    try:
        cell = parse(text)
        check_endpoints(node, cell, "the XML")
    except CellError as error:
        raise file.error(str(error), section, *key) from None
    except NearfarError as error:
        raise file.error(f"{section}: {error}", section, *key) from None
    return cell


def plain(flow: Flow) -> Flow:
    """The flow without what does not change its path's rate: who drives it, huge pages, how many tasks share it."""
    driver = None if flow.kind == "host" else flow.driver
    if (flow.driver, flow.huge, flow.tasks, flow.threads) == (driver, False, 1, False):
        return flow  # as most are: a million of a diagnosis
    return replace(flow, driver=driver, huge=False, tasks=1, threads=False)
