"""A node while it was measured: its state in one line (clocks, ECC, errors, who else was there), its checks' findings, its GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.base import NOT_JUDGED, Finding, grouped
from nearfar.measurement import MachineUse, machine_uses
from nearfar.report.blocks import Block, Entry, Row, row, titled_table
from nearfar.report.explanations import or_note
from nearfar.report.figures import SIGNS, link_words, numbers, plural
from nearfar.topology import Gpu, Node
from nearfar.verdict import SIBLINGS_ONLY, NodeRun

#: CPUs of others, and CPUs that a hypervisor kept, on the average of a run: what is less is on every machine.
_OTHERS = 1.0
_STEAL = 0.05


def state_line(node: NodeRun) -> str:
    """What is known of it; empty where nothing is, and of a modelled node."""
    if node.modelled:
        return ""
    loads = [each for check in node.checks for each in check.document.get("gpus_under_load", [])]
    said = [words for words in (_clocks(loads), _ecc(node), _errors(loads)) if words]
    who = or_note(lambda: _who_else(node), lambda why: why, "Reading who else used the machine")
    looked = not who and any(machine_uses(check.document) for check in node.checks)
    said += ["nobody else was seen on the machine"] if looked else []
    line = f"{'; '.join(said)}." if said else ""
    return " ".join(filter(None, [line[:1].upper() + line[1:], who]))


def _clocks(loads: list[dict[str, Any]]) -> str:
    held = grouped((str(reason), each["index"]) for each in loads for reason in each.get("throttle") or ())
    words = ", ".join(f"{reason.replace('_', ' ')} on GPU {numbers({*gpus})}" for reason, gpus in held.items())
    return f"clocks held down: {words}" if held else "no clock was held down under load" if loads else ""


def _ecc(node: NodeRun) -> str:
    known = [gpu for gpu in node.node.gpus if gpu.ecc is not None] if node.node else []
    if not known:
        return ""
    off = [gpu.index for gpu in known if not gpu.ecc]
    return f"ECC is off on GPU {numbers(off)}" if off else f"ECC is on ({plural(len(known), 'GPU')})"


def _errors(loads: list[dict[str, Any]]) -> str:
    words = []
    for key, what in (("uncorrected_errors", "uncorrected memory errors"), ("replays", "PCIe replays")):
        counts = {each["index"]: each[key] for each in loads if each.get(key)}
        each = ", ".join(f"{count} on GPU {gpu}" for gpu, count in sorted(counts.items()))
        words += [f"{what}: {each}"] if counts else []
    return "; ".join(words)


def _who_else(node: NodeRun) -> str | None:
    """A sentence where others took more than one CPU on the average of a check's run, steal time was seen, or a process of
    others was on a GPU; None where nothing of it was seen, or nobody looked."""
    uses = [use for check in node.checks for use in machine_uses(check.document)]
    most = max((use.steal or 0 for use in uses), default=0)
    steal = f"its hypervisor withheld {most:.1f} CPUs (steal time)" if most > _STEAL else None
    said = [words for words in (_others_cpus(uses), steal, _others_gpus(uses)) if words]
    return f"While this node was measured, {'; '.join(said)}." if said else None


def _others_cpus(uses: Sequence[MachineUse]) -> str | None:
    busy = max(uses, key=lambda use: use.others or 0, default=None)
    if busy is None or busy.others is None or busy.others <= _OTHERS:
        return None
    named = ", ".join(f"{each.command} of {each.user} {each.cpus:.1f}" for each in busy.busiest)
    most = f", up to {busy.most_others:.1f}" if busy.most_others is not None else ""
    return f"other processes used {busy.others:.1f} CPUs{most}" + (f" ({named})" if named else "")


def _others_gpus(uses: Sequence[MachineUse]) -> str | None:
    found: dict[str, None] = {}
    for each in (process for use in uses for process in use.gpu_processes):
        who = f"{each.command or 'a process'}{f' of {each.user}' if each.user else ''}"
        found[f"{who} (pid {each.pid}) was on {each.pci if each.gpu is None else f'g{each.gpu}'}"] = None
    return ", ".join(found) or None


def findings_table(found: Sequence[tuple[str, str, Finding]]) -> list[Block]:
    """Findings with the titles of their checks and their anchors. What several checks passed by siblings alone is one line."""
    alone = [(check, each) for check, _, each in found if each.code == SIBLINGS_ONLY.code]
    rows = [_finding(*each) for each in found if each[2].code != SIBLINGS_ONLY.code]
    if alone:
        fields = {**alone[0][1].fields, "figures": sum(each.fields["figures"] for _, each in alone)}
        together = SIBLINGS_ONLY.finding(alone[0][1].subject, **fields)
        rows.append(_finding(", ".join(check for check, _ in alone), "", together))
    return titled_table("Findings", rows)


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
    own_links = "NVLink" if all(gpu.vendor is None for gpu in node.node.gpus) else "xGMI"
    columns = ["GPU", "model", "PCI", "NUMA node", "link at most", own_links, "state"]
    columns += ["link under load", "throttled", "replays"] if loads else []
    rows: list[Row | Sequence[Entry | str]] = []
    for gpu in node.node.gpus:
        entries: list[Entry | str] = [
            str(gpu.index), Entry(gpu.name or "not stated", (gpu.uuid,) if gpu.uuid else ()), gpu.pci,
            "not stated" if gpu.numa_node is None else str(gpu.numa_node),
            link_words(gpu.link, most=True), _lanes(gpu, node.node), _state(gpu),
        ]  # fmt: skip
        rows.append([*entries, *(_under_load(gpu, loads.get(gpu.index)) if loads else [])])
    return titled_table("GPUs", rows, columns)


def _lanes(gpu: Gpu, node: Node) -> str:
    joined = sum(gpu.index in pair for pair, link in node.peers.items() if link == "XGMI")
    if joined:
        package = [f"GPU {g.index}" for g in node.gpus if g != gpu and gpu.serial and g.serial == gpu.serial]
        return f"xGMI to {joined} GPUs" + (f", one package with {', '.join(package)}" if package else "")
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
