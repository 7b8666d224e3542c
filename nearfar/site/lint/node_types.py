"""Node types beside their XML, their links and the GPU models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nearfar.base import SiteFile, did_you_mean, schema
from nearfar.model import link_text
from nearfar.model.prediction import Capacity, NodeType, line_rate, link_ceiling
from nearfar.topology import Link, Node, parse_hwloc_xml

from . import impossible
from .complaints import ERROR, INFO, WARNING, Complaint, at
from .gpu_models import BRIDGED_LANES
from .line_rates import PhysicalLimit, above_link
from .magnitude import of_memory
from .partitions import below_model
from .reading import ReadFile


def complaints(read: ReadFile[NodeType], models: Mapping[str, Mapping[str, Any]]) -> Iterator[Complaint]:
    """What is wrong with a node type that can be read."""
    node_type, file = read.value, read.file
    if node_type is None:
        return
    if node_type.unreviewed:
        words = "unreviewed: compare it with the machine, then remove the line"
        yield at(file, INFO, "unreviewed", words, "unreviewed")
    for step, words in _of_expectation(node_type, models):
        yield at(file, WARNING, "expectation", words, "expect", step)
    model, lanes = node_type.gpu_model or "", file.data.get("nvlinks") or 0
    if "pcie" in model.lower() and lanes > BRIDGED_LANES:
        words = f"nvlinks: {lanes} on a '{model}': bridges between PCIe cards have {BRIDGED_LANES} lanes at most; those of the SXM card?"
        yield at(file, ERROR, "line-rate", words, "nvlinks")
    for name, words in _of_links(file, node_type.node):
        yield at(file, WARNING, "expectation", words, "links", name)
    for capacity in node_type.capacities.values():
        fault = _of_capacity(capacity, node_type.node)
        if fault is not None:
            yield at(file, fault[0], fault[1], f"{capacity.name}: {fault[2]}", "capacities", capacity.name)
    yield from impossible.complaints(node_type, file, models)


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


def _of_links(file: SiteFile, node: Node) -> Iterator[tuple[str, str]]:
    """Links that the file has slower than they were when the XML was captured."""
    captured = parse_hwloc_xml((file.path.parent / file.data["xml"]).read_text(encoding="utf-8"))
    for gpu in captured.gpus:
        described = node.gpu(gpu.index)
        line = None if described is None else line_rate(described.link)
        if described is not None and line is not None and gpu.link.speed is not None and gpu.link.speed > 1.05 * line:
            words = f"{link_text(described.link)}, but the XML was captured with {gpu.link.speed:.3g} GB/s"
            yield f"g{gpu.index}", f"links: g{gpu.index}: {words}: a link that trained at a lower rate would pass"


def _of_capacity(capacity: Capacity, node: Node) -> tuple[str, str, str] | None:
    """A value above what its link carries, or of another unit."""
    if capacity.value is None:
        return None
    part, _, way = capacity.name.partition(".")
    if way == "memory":
        return of_memory(capacity.value)
    gpu = node.gpu(int(part[1:])) if part.startswith("g") and part[1:].isdigit() else None
    if gpu is None:
        return None
    ways = 2 if way == "both" else 1
    fabric = way in ("out", "in")
    link = Link("nvlink", gpu.nvlink_generation, gpu.nvlinks) if fabric else gpu.link
    line, payload = line_rate(link), link_ceiling(link, "p2p" if fabric else "d2h" if way == "d2h" else "h2d")
    if line is None or payload is None:
        return None
    return above_link(capacity.value, PhysicalLimit(line * ways, payload * ways, link_text(link), link.kind))
