"""What no machine can be: more lanes than a GPU's model has, memory faster than any, capacities and latencies beyond what carries them; and
what is said not to be published without a word of where it was looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nearfar.base import SiteFile
from nearfar.cells import Cell, parse
from nearfar.model import link_text
from nearfar.model.prediction import Capacity, NodeType, line_rate, most_of, switches
from nearfar.topology import Gpu, Link, Node
from nearfar.verdict import plausibility

from .complaints import ERROR, WARNING, Complaint, at
from .gpu_models import ROUNDED
from .magnitude import UnitFault, beyond

#: No fabric carries more between two nodes, GB/s: eight rails of InfiniBand XDR.
MOST_FABRIC = 800.0
#: A package's memory carries no more at most, GB/s: four stacks of HBM2e, 1,638 GB/s. No NUMA node has less: a channel of DDR2-400.
MOST_PACKAGE, LEAST_MEMORY = 1640.0, 3.2
_TIMES, _SIZE = r"((?:\d+(?:\.\d+)?(?:, | and )?)+) ?(ns|µs|us|ms)", r"(\d+(?:\.\d+)?) ?([KMG]?)(i?)B"
_LATENCIES = re.compile(rf"{_TIMES} \({_SIZE}\)"), re.compile(rf"{_SIZE}(?: in|:) {_TIMES}")
_MICROSECONDS = {"ns": 1e-3, "µs": 1.0, "us": 1.0, "ms": 1e3}
_NOT_PUBLISHED = re.compile(r"\b(no|not|never|nobody|none|nothing)\b[^.;]*\bpublished\b|\bunpublished\b", re.IGNORECASE)
_FACTOR = {"": 0, "K": 1, "M": 2, "G": 3}
#: The fastest that an uplink can be where nothing says what it is.
_FASTEST = Link("pcie", 6, 16)

_Models = Mapping[str, Mapping[str, Any]]


def complaints(
    node_type: NodeType, file: SiteFile, models: _Models, memories: Mapping[str, float]
) -> Iterator[Complaint]:
    """What of a node type cannot be; ``memories``: nominal rates of GPUs' memory, GB/s, by model."""
    yield from _of_lanes(node_type, file, models)
    for name, fault in (*_of_uplinks(node_type, file.data.get("links", {})), *_of_memory_peaks(node_type)):
        yield at(file, ERROR, "impossible", f"{name}: {fault}", "capacities", name)
    yield from _of_stream(node_type, file)
    for cell, cap in node_type.caps.items():
        fault = _of_cap(cell, cap, node_type.node, node_type.gpu_model, models) or _above(
            cell, cap.value or cap.peak, node_type, memories
        )
        if fault:
            yield at(file, ERROR, "impossible", f"{cell}: {fault}", "caps", str(cell))
    for place, entry in enumerate(node_type.published.get("cells", [])):
        fault = _above(parse(entry["cell"]), entry.get("value"), node_type, memories)
        if fault:
            yield at(file, ERROR, "impossible", f"{entry['cell']}: {fault}", "published", "cells", place)
    yield from _of_latencies(file)
    yield from _of_what_is_not_published(file)


def lanes_of(model: str | None, models: _Models) -> int | None:
    """The NVLink lanes of a GPU model; of a name that several models begin with (``NVIDIA A100``), the most of theirs."""
    if not model:
        return None
    own = models.get(model)
    like = [own] if own is not None else [facts for name, facts in models.items() if name.startswith(f"{model}-")]
    return max((facts["nvlinks"] for facts in like if facts.get("nvlinks")), default=None)


def _of_lanes(node_type: NodeType, file: SiteFile, models: _Models) -> Iterator[Complaint]:
    for gpu in node_type.node.gpus:
        most = lanes_of(gpu.name, models)
        if most is not None and gpu.nvlinks is not None and gpu.nvlinks > most:
            message = f"GPU {gpu.index} has {gpu.nvlinks} NVLink lanes, but {gpu.name} has {most}: another GPU, or links misread"
            yield at(file, ERROR, "impossible", message, "nvlinks" if "nvlinks" in file.data else "gpu_model")
            return


def _of_uplinks(node_type: NodeType, links: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Capacities of shared uplinks above what their link can carry: the one that the file names, else sixteen lanes of the generation
    of the GPUs behind it."""
    for pci, gpus in switches(node_type.node).items():
        named = links.get(f"switch:{pci}")
        below = [gpu.link for gpu in node_type.node.gpus if gpu.index in gpus]
        link = Link(named["kind"], named["gen"], named["width"]) if named else _widest(below) or _FASTEST
        line = line_rate(link)
        if line is None:
            continue
        wider = f"; if the uplink is wider, add it: links: {{switch:{pci}: {{kind: pcie, gen: …, width: …}}}}"
        for way, times in (("up", 1), ("down", 1), ("both", 2)):
            capacity, most = node_type.capacities[f"switch:{pci}.{way}"], line * times
            above = [value for value in (capacity.value, capacity.peak) if value is not None and value > most * 1.001]
            if above:
                fault = f"{above[0]:g} GB/s is above {link_text(link)}, {most:.1f} GB/s"
                yield capacity.name, f"{fault}{'' if named else wider}"


def _of_memory_peaks(node_type: NodeType) -> Iterator[tuple[str, str]]:
    """Peaks of host memory that no memory has, and figures above their peak."""
    packages: dict[int | None, float] = {}
    for numa in node_type.node.host_numa_nodes:
        capacity = node_type.capacities[f"n{numa.index}.memory"]
        if numa.peak is None:
            if capacity.value is not None and MOST_PACKAGE < capacity.value <= plausibility.HOST_MEMORY.most:
                yield capacity.name, _too_fast(capacity.value)
            continue
        peak = f"peak: {numa.peak:g} GB/s"
        packages[numa.package] = whole = packages.get(numa.package, 0.0) + numa.peak
        if numa.peak < LEAST_MEMORY:
            typed = f"typed in TB/s? that is {numa.peak * 1000:g} GB/s"
            yield capacity.name, f"{peak} is less than one channel has; {typed}"
        elif whole > MOST_PACKAGE:
            others = "" if whole == numa.peak else " with the other NUMA nodes of its package"
            most = f"is more than any package's memory has, {MOST_PACKAGE:g} GB/s; in MB/s, or Gbit/s?"
            yield capacity.name, f"{peak}{others} {most}"
        elif capacity.value is not None and capacity.value > numa.peak * 1.001:
            yield capacity.name, f"{capacity.value:g} GB/s is above its peak, {numa.peak:g} GB/s"


def _of_stream(node_type: NodeType, file: SiteFile) -> Iterator[Complaint]:
    for (cores, memory), rates in node_type.stream.items():
        numa = node_type.node.numa_node(memory)
        if not rates:
            continue
        most, name = max(rates.values()), f"c{cores}:n{memory}"
        fault = beyond(most, "GB/s", plausibility.HOST_MEMORY) or (
            UnitFault(ERROR, "impossible", _too_fast(most)) if most > MOST_PACKAGE else None
        )
        if fault is None and numa is not None and numa.peak is not None and most > numa.peak * 1.001:
            above = f"{most:g} GB/s is above the peak of n{memory}.memory, {numa.peak:g} GB/s"
            fault = UnitFault(ERROR, "impossible", above)
        if fault is not None:
            yield at(file, fault.level, fault.rule, f"{name}: {fault.message}", "stream", name)


def _too_fast(value: float) -> str:
    return f"{value:g} GB/s is more than any package's memory has; typed in MB/s? that is {value / 1000:g} GB/s"


def _widest(links: Sequence[Link]) -> Link | None:
    generations = [link.nominal.gen for link in links if link.kind == "pcie"]
    known = [generation for generation in generations if generation is not None]
    return Link("pcie", max(known), 16) if known else None


def _of_cap(cell: Cell, cap: Capacity, node: Node, model: str | None, models: _Models) -> str:
    """Why flows of a cell cannot carry together what the file says: more than all lanes of the GPUs that they leave, or enter."""
    if cap.value is None or any(flow.kind != "peer" or flow.staged for flow in cell.flows):
        return ""
    ends = []
    for sources in (True, False):
        gpus = {flow.source.index if sources else flow.destination.index for flow in cell.flows}
        rates = [_lanes_rate(node.gpu(index), model, models) for index in gpus]
        if None in rates:
            return ""
        ends.append(sum(rate for rate in rates if rate is not None))
    most = min(ends)
    return (
        f"{cap.value:g} GB/s is above all NVLink lanes of its GPUs, {most:.1f} GB/s" if cap.value > most * 1.001 else ""
    )


def _above(cell: Cell, value: float | None, node_type: NodeType, memories: Mapping[str, float]) -> str:
    """Why a cell cannot carry so much: more than its links at line rate, or its memories at their peak."""
    most = None if value is None else most_of(cell, node_type, memories)
    if value is None or most is None or value <= most * (1 + ROUNDED):
        return ""
    return f"{value:g} GB/s is above what its links and memories carry at most, {most:.1f} GB/s"


def _lanes_rate(gpu: Gpu | None, model: str | None, models: _Models) -> float | None:
    if gpu is None or gpu.nvlink_generation is None:
        return None
    lanes = gpu.nvlinks or lanes_of(gpu.name or model, models)
    return line_rate(Link("nvlink", gpu.nvlink_generation, lanes)) if lanes else None


def implied_rates(text: str) -> Iterator[tuple[str, float]]:
    """The rates (GB/s) that latencies of transfers imply: ``13.955 and 18.886 µs (16 MB)``, ``16 MB in 13.955 µs``; each with its words."""
    behind, before = (pattern.findall(text) for pattern in _LATENCIES)
    for times, unit, size, prefix, binary in [*behind, *((*groups[3:], *groups[:3]) for groups in before)]:
        number = float(size) * (1024 if binary else 1000) ** _FACTOR[prefix]
        for time in re.findall(r"\d+(?:\.\d+)?", times):
            if float(time) > 0:
                yield f"{size} {prefix}{binary}B in {time} {unit}", number / (float(time) * _MICROSECONDS[unit]) / 1000


def _of_latencies(file: SiteFile) -> Iterator[Complaint]:
    for place, entry in enumerate(file.data.get("published", {}).get("not_modelled", [])):
        for latency, rate in implied_rates(entry.get("figures", "")):
            if rate > MOST_FABRIC and "impossible" not in entry:
                message = (
                    f"{latency} is {rate:,.0f} GB/s, more than any fabric carries: mark it (impossible: …), or fix it"
                )
                yield at(file, ERROR, "impossible", message, "published", "not_modelled", place)
                break


def _of_what_is_not_published(file: SiteFile) -> Iterator[Complaint]:
    """Words that something was not published, where nothing says what was read."""
    ask = 'list where you searched: looked_in: ["paper, what of it"]'
    for section in ("capacities", "caps"):
        for name, entry in file.data.get(section, {}).items():
            if entry["value"] is None and _NOT_PUBLISHED.search(entry["reason"]) and not entry.get("looked_in"):
                yield at(file, WARNING, "provenance", f"{name}: '{entry['reason']}': {ask}", section, name)
    published = file.data.get("published", {})
    for place, remark in enumerate(published.get("remarks", [])):
        if _NOT_PUBLISHED.search(remark) and not published.get("looked_in"):
            short = remark if len(remark) <= 60 else f"{remark[:57]}…"
            yield at(file, WARNING, "provenance", f"'{short}': {ask}", "published", "remarks", place)
