"""Node types beside their XML, their links and the GPU models; published nodes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nearfar.base import SiteFile, did_you_mean, schema
from nearfar.cells import Flow
from nearfar.model import PublishedNode, link_text
from nearfar.model.prediction import Capacity, NodeType, lanes_fault, line_rate, link_ceiling, link_fault, peer_link
from nearfar.topology import Gpu, Link, Node, parse_hwloc_xml
from nearfar.verdict import plausibility

from . import impossible
from .complaints import ERROR, INFO, WARNING, Complaint, at
from .gpu_models import BRIDGED_LANES, ROUNDED, no_day
from .line_rates import PhysicalLimit, above_link, below_any_link
from .magnitude import beyond
from .partitions import below_model
from .reading import ReadFile

#: GB/s in one direction between two packages: the least of a HyperTransport link, and more than any of today's.
PACKAGE_LINKS = (1.0, 1000.0)
_PACKAGE_LINK = re.compile(r"p\d+-p\d+")
#: Both directions at once carry no more than this of the two alone, by what single figures vary.
_MORE_THAN_BOTH = 1.05


def complaints(
    read: ReadFile[NodeType], models: Mapping[str, Mapping[str, Any]], memories: Mapping[str, float]
) -> Iterator[Complaint]:
    """What is wrong with a node type that can be read; ``memories``: nominal rates of GPUs' memory, GB/s, by model."""
    node_type, file = read.value, read.file
    if node_type is None:
        return
    if node_type.unreviewed:
        problem = "unreviewed: compare it with the machine, then remove the line"
        yield at(file, INFO, "unreviewed", problem, "unreviewed")
    for step, problem in _of_expectation(node_type, models):
        yield at(file, WARNING, "expectation", problem, "expect", step)
    model, lanes = node_type.gpu_model or "", file.data.get("nvlinks") or 0
    if "pcie" in model.lower() and lanes > BRIDGED_LANES:
        problem = f"nvlinks: {lanes} on a '{model}': bridges between PCIe cards have {BRIDGED_LANES} lanes at most; those of the SXM card?"
        yield at(file, ERROR, "line-rate", problem, "nvlinks")
    for name, problem in _named_links(file, node_type.node, models):
        yield at(file, ERROR, "impossible", problem, "links", name)
    problem = lanes_fault(file.data.get("nvlinks"), file.data.get("nvlink_generation")) or _newer_nvlink(
        node_type, models
    )
    if problem:
        yield at(file, ERROR, "impossible", problem, "nvlinks" if "nvlinks" in file.data else "nvlink_generation")
    for name, problem in _of_links(file, node_type.node):
        yield at(file, WARNING, "expectation", problem, "links", name)
    for capacity in node_type.capacities.values():
        fault = _of_capacity(capacity, node_type.node, memories)
        if fault is not None:
            yield at(file, fault[0], fault[1], f"{capacity.name}: {fault[2]}", "capacities", capacity.name)
    for name, problem in _of_both_ways(node_type):
        yield at(file, WARNING, "contradiction", problem, "capacities", name)
    yield from impossible.complaints(node_type, file, models, memories)


def _of_expectation(node_type: NodeType, models: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    expect, node = node_type.expect, node_type.node
    known = list(schema("system-1")["definitions"]["expect"]["properties"])
    for key in expect:
        if key not in known:
            yield key, f"expect: unknown key '{key}'{did_you_mean(str(key), known)}: nothing is compared with it"
    gpus = expect.get("gpus")
    if gpus is not None and gpus != len(node.gpus):
        yield "gpus", f"expect: gpus: {gpus}, but the XML has {len(node.gpus)}"
    memories, has = expect.get("numa_nodes"), [numa.index for numa in node.host_numa_nodes]
    if memories is not None and (sorted(memories) != has if isinstance(memories, list) else memories != len(has)):
        yield "numa_nodes", f"expect: numa_nodes: {memories}, but the XML has {has}"
    model = expect.get("gpu_model")
    if model is not None and node_type.gpu_model is not None and model != node_type.gpu_model:
        yield "gpu_model", f"expect: gpu_model: '{model}', but the node type's is '{node_type.gpu_model}'"
    yield from below_model(expect, model or node_type.gpu_model, models)


def _named_links(file: SiteFile, node: Node, models: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Links that no GPU has, or none of its model."""
    for name, link in file.data.get("links", {}).items():
        fault = link_fault(link)
        if fault:
            yield name, f"links: {name}: {fault}"
            continue
        gpu = node.gpu(int(name[1:])) if name.startswith("g") else None
        its = models.get(gpu.name or "", {}).get("link", {}) if gpu is not None else {}
        if gpu is not None and its.get("kind") == link["kind"] and (link["gen"] or 0) > its.get("gen", float("inf")):
            yield name, f"links: {name}: gen: {link['gen']}, but {gpu.name} has {its['gen']}"


def _newer_nvlink(node_type: NodeType, models: Mapping[str, Mapping[str, Any]]) -> str:
    """A generation of NVLink above that of the GPUs' model."""
    for gpu in node_type.node.gpus:
        its = models.get(gpu.name or "", {}).get("nvlink_generation")
        if its is not None and (gpu.nvlink_generation or 0) > its:
            return f"GPU {gpu.index} has NVLink {gpu.nvlink_generation}, but {gpu.name} has {its}"
    return ""


def _of_links(file: SiteFile, node: Node) -> Iterator[tuple[str, str]]:
    """Links that the file has slower than they were when the XML was captured."""
    captured = parse_hwloc_xml((file.path.parent / file.data["xml"]).read_text(encoding="utf-8"))
    for gpu in captured.gpus:
        described = node.gpu(gpu.index)
        line = None if described is None else line_rate(described.link)
        if described is not None and line is not None and gpu.link.speed is not None and gpu.link.speed > 1.05 * line:
            message = f"{link_text(described.link)}, but the XML was captured with {gpu.link.speed:.3g} GB/s"
            yield f"g{gpu.index}", f"links: g{gpu.index}: {message}: a link that trained at a lower rate would pass"


def _of_capacity(capacity: Capacity, node: Node, memories: Mapping[str, float]) -> tuple[str, str, str] | None:
    """A value or a peak above what its link carries, a value above its peak, or one of another unit."""
    part, _, way = capacity.name.partition(".")
    gpu = node.gpu(int(part[1:])) if part.startswith("g") and part[1:].isdigit() else None
    if way == "memory" and gpu is None:
        # What is wrong with peaks of host memory, packages together, stands elsewhere.
        return None if capacity.value is None else beyond(capacity.value, "GB/s", plausibility.HOST_MEMORY)
    for value in (capacity.value, capacity.peak):
        if value is None:
            continue
        if gpu is None:
            fault = _of_package_link(value) if _PACKAGE_LINK.fullmatch(capacity.name) else None
        else:
            fault = _of_gpu_memory(value, gpu, memories) if way == "memory" else _of_gpu_link(value, gpu, way)
        if fault is not None:
            return fault
    # The peak of a shared uplink is its link's.
    peak = None if capacity.name.startswith("switch:") else capacity.peak
    if capacity.value is not None and peak is not None and capacity.value > peak * 1.001:
        return ERROR, "impossible", f"{capacity.value:g} GB/s is above its peak, {peak:g} GB/s"
    return None


def _of_both_ways(node_type: NodeType) -> Iterator[tuple[str, str]]:
    """Both directions at once above the two alone."""
    for gpu in node_type.node.gpus:
        down, up, both = (node_type.capacities[f"g{gpu.index}.{way}"].value for way in ("h2d", "d2h", "both"))
        if down is not None and up is not None and both is not None and both > (down + up) * _MORE_THAN_BOTH:
            name = f"g{gpu.index}.both"
            yield name, f"{name}: {both:g} GB/s is above both directions alone, {down:g} and {up:g} GB/s"


def _of_package_link(value: float) -> tuple[str, str, str] | None:
    least, most = PACKAGE_LINKS
    if least <= value <= most:
        return None
    meant = f"MB/s? that is {value / 1000:g}" if value > most else f"TB/s? that is {value * 1000:g}"
    return ERROR, "impossible", f"{value:g} GB/s is not a link between packages; typed in {meant} GB/s"


def _of_gpu_memory(value: float, gpu: Gpu, memories: Mapping[str, float]) -> tuple[str, str, str] | None:
    fault = beyond(value, "GB/s", plausibility.GPU_MEMORY)
    if fault is not None:
        return fault
    nominal = memories.get(gpu.name or "")
    if nominal is not None and value > nominal * (1 + ROUNDED):
        return ERROR, "impossible", f"{value:g} GB/s is above the memory of {gpu.name}, {nominal:g} GB/s"
    return None


def _of_gpu_link(value: float, gpu: Gpu, way: str) -> tuple[str, str, str] | None:
    ways = 2 if way == "both" else 1
    fabric = way in ("out", "in")
    link = Link("nvlink", gpu.nvlink_generation, gpu.nvlinks) if fabric else gpu.link
    line, payload = line_rate(link), link_ceiling(link)
    if line is None or payload is None:
        return None
    above = above_link(value, PhysicalLimit(line * ways, payload * ways, link_text(link), link.kind))
    return above or below_any_link(value, payload, link_text(link))


def of_published(nodes: Iterable[ReadFile[PublishedNode]], today: datetime.date) -> Iterator[Complaint]:
    """What is wrong with published nodes: days that cannot be, links that no GPU has, figures above what their link signals."""
    for read in nodes:
        file, published = read.file, read.value
        if published is None:
            continue
        for place, capture in enumerate(published.captures):
            if fault := no_day(str(capture["date"]), today):
                yield at(file, ERROR, "provenance", f"date: {fault}", "captures", place, "date")
        yield from of_topology(read)
        for figure in published.figures:
            link = _captured_link(published.node_type.node, figure.cell.flows[0]) if figure.cell.lone else None
            signalled = None if link is None else line_rate(link)
            if link is not None and signalled is not None and figure.greatest > signalled:
                above = (
                    f"{figure}: {figure.greatest:g} GB/s is above the line rate of {link_text(link)}, {signalled:.1f}"
                )
                yield at(file, ERROR, "line-rate", above, "captures", figure.capture, "figures")


def of_topology(read: ReadFile[Any]) -> Iterator[Complaint]:
    """Links that no GPU has in the topology of a published file."""
    file = read.file
    top = (file.data if isinstance(file.data, dict) else {}).get("topology", {})
    if fault := link_fault(top.get("link", {})):
        yield at(file, ERROR, "impossible", f"link: {fault}", "topology", "link")
    for name, link in top.get("links", {}).items():
        if fault := link_fault(link):
            yield at(file, ERROR, "impossible", f"links: {name}: {fault}", "topology", "links", name)
    if fault := lanes_fault(top.get("nvlinks"), top.get("nvlink_generation")):
        yield at(file, ERROR, "impossible", f"nvlinks: {fault}", "topology", "nvlinks")


def _captured_link(node: Node, flow: Flow) -> Link | None:
    """The link that a lone copy crosses, where it is known."""
    if flow.kind == "peer":
        return None if flow.staged else peer_link(node, *flow.gpus)
    return node.gpus[flow.gpus[0]].link if flow.kind == "host" else None
