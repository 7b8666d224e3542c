"""Tables of a node: its checks' findings, its GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import NOT_JUDGED, Finding
from nearfar.report.blocks import Block, Entry, Group, Row, row, table
from nearfar.report.figures import SIGNS, wording
from nearfar.topology import Gpu
from nearfar.verdict import NodeRun


def findings_table(found: Sequence[tuple[str, str, Finding]]) -> list[Block]:
    """Findings with the titles of their checks and their anchors."""
    return [Group("Findings", (table((), [_finding(*each) for each in found]),))] if found else []


def _finding(check: str, anchor: str, finding: Finding) -> Row:
    note = finding.verdict == NOT_JUDGED
    word = "" if note else finding.verdict if finding.verdict in SIGNS else "INDETERMINATE"
    hard = " (hard evidence)" if finding.hard else ""
    verdict = Entry("– note" if note else "", verdict=word)
    return row(verdict, check, f"`{finding.subject}`", f"{finding.reason}{hard}", anchor=anchor)


def gpu_table(node: NodeRun) -> list[Block]:
    """The GPUs with their links, under load too where that was recorded."""
    if node.node is None or not node.node.gpus:
        return []
    loads = {each.get("index"): each for check in node.checks for each in check.document.get("gpus_under_load", [])}
    columns = ["GPU", "model", "PCI", "NUMA node", "link at most", "NVLink", "state"]
    columns += ["link under load", "throttled", "replays"] if loads else []
    rows: list[Sequence[Entry | str]] = []
    for gpu in node.node.gpus:
        entries: list[Entry | str] = [
            str(gpu.index), Entry(gpu.name or "not stated", (gpu.uuid,) if gpu.uuid else ()), gpu.pci,
            "not stated" if gpu.numa_node is None else str(gpu.numa_node),
            wording.link_words(gpu.link, most=True), _lanes(gpu), _state(gpu),
        ]  # fmt: skip
        rows.append([*entries, *(_under_load(gpu, loads.get(gpu.index)) if loads else [])])
    return [Group("GPUs", (table(columns, rows),))]


def _lanes(gpu: Gpu) -> str:
    generation = f", generation {gpu.nvlink_generation}" if gpu.nvlink_generation else ""
    return f"{gpu.nvlinks} lanes{generation}" if gpu.nvlinks else "none known"


def _state(gpu: Gpu) -> str:
    ecc = "" if gpu.ecc is None else "ECC on" if gpu.ecc else "ECC off"
    words = ["hidden from this process" if not gpu.visible else "", "MIG" if gpu.mig else "", ecc]
    return ", ".join(filter(None, words)) or "not recorded"


def _under_load(gpu: Gpu, load: dict[str, object] | None) -> list[str]:
    if load is None:
        return ["not recorded"] * 3
    link, replays = load.get("link"), load.get("replays")
    known = isinstance(link, dict) and link.get("gen") and gpu.link.kind == "pcie"
    reasons = load.get("throttle")
    throttled = ", ".join(map(str, reasons)) if isinstance(reasons, list) else ""
    return [
        f"PCIe {link['gen']} ×{link['width']}" if known and isinstance(link, dict) else "not recorded",
        f"{SIGNS['DEGRADED']} {throttled}" if throttled else "no",
        "not recorded" if replays is None else str(replays),
    ]
