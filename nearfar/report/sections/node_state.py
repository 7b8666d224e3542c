"""A node while it was measured: who else was there, its checks' findings, its GPUs with their clocks and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.base import NOT_JUDGED, Finding, grouped
from nearfar.measurement import MachineUse, machine_uses
from nearfar.report.blocks import Block, Entry, Row, row, titled_table
from nearfar.report.explanations import or_note
from nearfar.report.figures import SIGNS, link_words
from nearfar.topology import Gpu, Node
from nearfar.verdict import SIBLINGS_ONLY, NodeRun

#: CPUs of others, and CPUs that a hypervisor kept, on the average of a run: what is less is on every machine.
_OTHERS = 1.0
_STEAL = 0.05


def who_else(node: NodeRun) -> str:
    """Who else used it meanwhile, in a sentence; empty where nobody looked, and of a modelled node."""
    if node.modelled:
        return ""
    return or_note(lambda: _who_else(node), lambda why: why, "Reading who else used the machine")


def _who_else(node: NodeRun) -> str:
    """Others are seen where they took more than one CPU on the average of a check's run, where steal time was, or a process of theirs on
    a GPU."""
    uses = [use for check in node.checks for use in machine_uses(check.document)]
    most = max((use.steal or 0 for use in uses), default=0)
    steal = f"its hypervisor withheld {most:.1f} CPUs (steal time)" if most > _STEAL else None
    said = [words for words in (_others_cpus(uses), steal, _others_gpus(uses)) if words]
    nobody = "No other processes used the machine." if uses else ""
    return f"While this node was measured, {'; '.join(said)}." if said else nobody


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
    loads = grouped(
        (each.get("index"), each) for check in node.checks for each in check.document.get("gpus_under_load", [])
    )
    own_links = "NVLink" if all(gpu.vendor is None for gpu in node.node.gpus) else "xGMI"
    columns = ["GPU", "model", "PCI", "NUMA node", "link at most", own_links, "state"]
    columns += ["link under load", "throttled", "replays", "memory errors"] if loads else []
    rows: list[Row | Sequence[Entry | str]] = []
    for gpu in node.node.gpus:
        entries: list[Entry | str] = [
            str(gpu.index), Entry(gpu.name or "not stated", (gpu.uuid,) if gpu.uuid else ()), gpu.pci,
            "not stated" if gpu.numa_node is None else str(gpu.numa_node),
            link_words(gpu.link, most=True), _lanes(gpu, node.node), _state(gpu),
        ]  # fmt: skip
        rows.append([*entries, *(_under_load(loads.get(gpu.index, ()), gpu.link.kind == "pcie") if loads else [])])
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


def _under_load(loads: Sequence[Mapping[str, Any]], pcie: bool) -> list[str]:
    """The last link under load; every reason that held down the clocks, and the most errors, of all checks."""
    links = [each["link"] for each in loads if (each.get("link") or {}).get("gen")] if pcie else []
    held = dict.fromkeys(str(reason) for each in loads for reason in each.get("throttle") or ())
    found = [f"PCIe {link['gen']} ×{link['width']}" for link in links[-1:]] or ["not recorded"]
    found.append(f"{SIGNS['DEGRADED']} {', '.join(held)}" if held else "no" if loads else "not recorded")
    counts = ([each[key] for each in loads if each.get(key) is not None] for key in ("replays", "uncorrected_errors"))
    return [*found, *(str(max(known)) if known else "not recorded" for known in counts)]
