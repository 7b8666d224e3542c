"""Is the node at hand the one that the site's file describes: the topology's findings, item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nearfar.base import NOT_JUDGED, Finding
from nearfar.measurement import Document
from nearfar.model.prediction import NodeType
from nearfar.topology import Gpu, Node, compare

from . import messages
from .systems import Partition, System


def not_compared(system: System, partition: Partition, node_type: NodeType | None) -> str | None:
    """Why a topology cannot be compared with anything, in words; None where it can."""
    if system.file is None and not partition.expect:
        name = "NAME" if system.name == "local" else system.name
        return f"no system file describes this machine; nearfar detect --site {name} writes a first one"
    unreviewed = [system.file] if system.unreviewed else []
    if node_type is not None and node_type.unreviewed and node_type.file is not None:
        unreviewed.append(node_type.file)
    if unreviewed:
        names = " and ".join(map(str, unreviewed))
        return f"unreviewed: {names}; compare with the machine, then remove that line"
    if node_type is None and not partition.expect:
        return f"{system.file} does not describe what '{partition.name}' should have: give it a node_type, or `expect`"
    return None


def findings(
    system: System,
    partition: Partition,
    node_type: NodeType | None,
    expected: Node,
    observed: Node | None,
    document: Document | None,
    acceptance: bool,
) -> list[Finding]:
    """What differs between the expected node and the observed one, with links as they are under load.

    A system that nobody has reviewed is not compared: its file was written by the very machine. What remains there is
    whether each link does under load what its own ends allow.
    """
    if observed is None:
        return [messages.NOT_DESCRIBED.finding("topology")]
    entries = [] if document is None else document.raw.get("gpus_under_load", [])
    under_load = {entry["index"]: entry for entry in entries}
    why = not_compared(system, partition, node_type)
    if why is not None:
        word = "INDETERMINATE" if acceptance else NOT_JUDGED
        sleepy = [difference for difference in compare(observed, observed, under_load) if ".link" in difference.subject]
        return [
            messages.NOT_COMPARED.finding("topology", verdict=word, cause=why),
            *(replace(difference, verdict="DEGRADED", hard=False) for difference in sleepy),
        ]
    differences = compare(expected, observed, under_load, partition.expectation(node_type))
    differences = differences or [messages.AS_EXPECTED.finding("node", file=system.source)]
    verdict = "INDETERMINATE" if acceptance else NOT_JUDGED
    if node_type is None:
        # The rest of what is expected was read from this very node, and always agrees.
        differences.append(
            messages.PARTLY_COMPARED.finding("topology", verdict=verdict, file=system.source, partition=partition.name)
        )
    blind = [] if document is None else _not_seen(expected, under_load)
    return differences + ([messages.LINKS_NOT_SEEN.finding("topology", verdict=verdict, gpus=blind)] if blind else [])


def another_node(document: Document, observed: Node) -> list[Finding]:
    """A document of other GPUs than those at hand, by their UUIDs or PCI addresses, says nothing of this node."""
    here = {gpu.pci: gpu.uuid for gpu in observed.gpus}
    if not here:
        return []
    absent = {gpu.get("pci") for gpu in document.raw["node"].get("gpus", ()) if gpu.get("on_bus") is False}
    listed = [gpu for gpu in document.node.gpus if gpu.pci not in absent]
    strange = [gpu.pci for gpu in listed if gpu.pci not in here or not _same(gpu.uuid, here[gpu.pci])]
    if not strange:
        return []
    hosts: dict[str, Any] = {"hostname": document.node.hostname, "here": observed.hostname}
    return [messages.OTHER_GPUS.finding("document", **hosts, gpus=strange)]


def _same(uuid: str | None, other: str | None) -> bool:
    return uuid is None or other is None or uuid == other


def _not_seen(expected: Node, under_load: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """The GPUs whose expected link over PCI Express nobody could read while it worked."""

    def seen(gpu: Gpu) -> bool:
        state = under_load.get(gpu.index, {}).get("link") or {}
        return bool(state.get("gen") and state.get("width"))

    return [gpu.index for gpu in expected.gpus if gpu.link.kind == "pcie" and not seen(gpu)]
