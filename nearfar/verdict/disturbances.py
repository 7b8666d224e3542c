"""Who disturbed a measurement: slow figures that others explain are INDETERMINATE, and name them. Pure (docs/references.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import NOT_JUDGED, Finding, grouped
from nearfar.cells import Flow
from nearfar.measurement import TIME_UNITS, Document, GpuProcess, MachineUse, machine_uses
from nearfar.topology import Node
from nearfar.verdict.references import figure

from . import thresholds
from .common_factor import link_groups
from .messages import DISTURBED, FELL_TOGETHER, FIGURES_DISTURBED, FIGURES_FELL, NONE_SETTLED, UNSETTLED
from .verdict_types import JudgedMetric

#: The disturbance of unrelated paths that fall together: load on a shared host, and on an own one its memory or a setting as well, so
#: that nobody has disturbed it.
HOST, OWN_HOST = "host", "own_host"
FELL = (HOST, OWN_HOST)
#: The GPU's own memory erred while a figure was measured: it is judged all the same, and no reference is made from it.
MEMORY_ERRORS = "memory_errors"
#: When to run again on a host that others disturb from outside of the machine.
_QUIET_HOST = "when the host is less busy"


@dataclass(frozen=True)
class Disturbance:
    """``kind``: ``cpus``, ``steal``, ``gpu`` or ``host``; ``words`` end a sentence about a figure, ``until`` says when to run again.
    ``gpus``: those that others used, and those behind the same bridge. ``fallen``: the cells, or the NUMA node and direction,
    whose paths fell together."""

    kind: str
    words: str
    until: str
    gpus: frozenset[int] = frozenset()
    fallen: frozenset[str | tuple[int, str]] = frozenset()

    def touches(self, metric: JudgedMetric) -> bool:
        """Whether it can have made a figure worse."""
        cell = metric.cell
        if self.kind == "gpu":
            used = metric.gpus if cell is None or metric.flow is None else tuple(g for f in cell.flows for g in f.gpus)
            # Of ranks nobody knows which GPU is whose.
            return not self.gpus.isdisjoint(used) or (metric.engine == "mpi" and not used)
        if self.kind == HOST:
            return metric.subject in self.fallen or (cell is not None and any(self._fell(flow) for flow in cell.flows))
        # The host's CPUs or memory have a part in all but copies between GPUs and within one.
        if cell is None or metric.quantity.startswith("latency."):
            return True
        return any(flow.kind in ("host", "stream") or flow.staged or flow.numa_node is not None for flow in cell.flows)

    def _fell(self, flow: Flow) -> bool:
        memory = _memory(flow)
        ways = {way for way in self.fallen if isinstance(way, tuple) and (way[0] == memory or flow.staged)}
        # Through which memory a staged copy goes is not known.
        return bool(ways) if flow.kind == "stream" or flow.staged else (memory, flow.direction) in ways


def apply(judged: Sequence[JudgedMetric], documents: Sequence[Document], host: str) -> list[JudgedMetric]:
    """The figures, with INDETERMINATE for FAIL and DEGRADED where a disturbance can have made them so; the reason names it.

    ``documents`` are those that the figures come from, one for each time that they were measured; what disturbed fewer than half
    of them explains nothing. ``host``: ``own`` or ``shared``. Unrelated paths that fall together are the host's: on a shared one load
    that it does not show, on an own one its memory or a setting as well, so that a FAIL stays one, with a code of its own. A figure on
    the good side of its bounds, or without any, stays what it is, and is marked.
    """
    found = [] if not documents else seen(documents)
    if documents:
        found += fallen_together(judged, documents[0].node)
    return [_explained(entry, found, host) for entry in judged]


def reasons(judged: Sequence[JudgedMetric]) -> list[Finding]:
    """What is held against figures: those of one disturbance as one, and of a run where nothing settled as one."""
    said = []
    for kind, group in grouped((entry.disturbance, entry) for entry in judged if _is_told_once(entry)).items():
        message = FIGURES_FELL if kind == OWN_HOST else FIGURES_DISTURBED
        several = message.finding(group[0].name, cause=group[0].full_reason, more=len(group) - 1)
        said.append(several if len(group) > 1 else group[0].finding)
    rest = [entry for entry in judged if not _is_told_once(entry)]
    unsettled = [entry for entry in rest if entry.code == UNSETTLED.code]
    bounded = [entry for entry in judged if entry.bounded]
    if len(unsettled) > 1 and len(unsettled) == len(bounded):
        said.append(NONE_SETTLED.finding(unsettled[0].name, figures=len(bounded), cause=unsettled[0].reason))
        rest = [entry for entry in rest if entry.code != UNSETTLED.code]
    return [*said, *(entry.finding for entry in rest if entry.verdict not in ("PASS", NOT_JUDGED))]


def of_other_checks(checks: Sequence[tuple[str, Sequence[JudgedMetric]]]) -> list[list[JudgedMetric]]:
    """The figures of each check of one run on one node, as ``apply`` has them, by what the other ``checks`` (name, judged figures) found.

    What is slow and crosses a NUMA node's memory whose lone copies fell together in another check is no evidence against the node.
    Latencies stand; a sum that fell evenly explains nothing of other checks, since a link that is a little slow looks the same in it.
    """
    fell = [_found_fallen(name, judged) for name, judged in checks]
    # Of all lone copies of a node's run the code says what kind of host it is.
    host = "own" if any(m.code == FELL_TOGETHER.code for _, judged in checks for m in judged) else "shared"
    found = []
    for number, (_, judged) in enumerate(checks):
        others = [each for at, each in enumerate(fell) if at != number and each is not None][:1]
        found.append(
            [m if m.quantity.startswith("latency.") or not _bad(m) else _explained(m, others, host) for m in judged]
        )
    return found


def seen(documents: Sequence[Document]) -> list[Disturbance]:
    """What the documents' ``machine`` says of others, in at least half of them."""
    told = [grouped(((each.kind, each.gpus), each) for each in _of_document(document)) for document in documents]
    counts = Counter(key for of_one in told for key in of_one)
    first = {key: of_one[key][0] for of_one in reversed(told) for key in of_one}
    return [first[key] for key, count in counts.items() if 2 * count >= len(documents)]


def fallen_together(judged: Sequence[JudgedMetric], node: Node) -> list[Disturbance]:
    """The host's memory, where paths that share nothing else fall together and those between GPUs stay.

    Lone paths between one NUMA node's memory and GPUs behind different bridges, two of them slow by their bounds, one direction for
    itself, with STREAM of that memory where it was measured; or a sum of such paths that share it evenly.
    """
    if any(_bad(m) and m.cell and all(f.kind == "peer" and not f.staged for f in m.cell.flows) for m in judged):
        return []
    groups = link_groups(node)
    found = []
    for memory, way in sorted({_way(m) for m in judged if _bad(m) and _lone_host(m)}):
        paths = [m for m in judged if m.cell is not None and m.cell.lone and _on(m.cell.flows[0], memory, way)]
        falls = {m.subject: fall for m in paths if (fall := _fall(m)) is not None}
        sizes = list(falls.values()) or [0.0]
        bad = {_part(m.cell.flows[0], groups) for m in paths if _bad(m) and m.cell and m.subject in falls}
        together = min(sizes) >= thresholds.TOGETHER * max(sizes)
        if len(bad) > 1 and together and thresholds.LEAST_FALL <= max(sizes) <= thresholds.MOST_FALL:
            named = ", ".join(f"{subject} by {100 * fall:.0f} %" for subject, fall in list(falls.items())[:4])
            words = f"{_fell_together(memory)} ({named})"
            found.append(Disturbance(HOST, words, _QUIET_HOST, fallen=frozenset([(memory, way)])))
    for total in judged:
        if not _bad(total) or total.flow is not None or (_fall(total) or 0.0) > thresholds.MOST_FALL:
            continue
        if shares := _even_shares(total, judged, groups):
            moved = ", ".join(figure(share, total.unit) for share in shares)
            words = f"its flows share only the memory of NUMA node {_memory(total.cell.flows[0])}, and slowed down evenly ({moved})"  # type: ignore[union-attr]
            found.append(Disturbance(HOST, words, _QUIET_HOST, fallen=frozenset([total.subject])))
    return found


def _fell_together(memory: int) -> str:
    return f"paths that share only the memory of NUMA node {memory} slowed down together"


def _found_fallen(check: str, judged: Sequence[JudgedMetric]) -> Disturbance | None:
    """The memory whose lone copies a judged check found to have fallen together, as it disturbs other checks; None: it found none."""
    lone = [m for m in judged if m.disturbance in FELL and _lone_host(m)]
    if not any(map(_is_told_once, lone)):
        return None
    ways = frozenset(map(_way, lone))
    return Disturbance(
        HOST, f"{check} of the same run found that {_fell_together(min(ways)[0])}", _QUIET_HOST, fallen=ways
    )


def _explained(entry: JudgedMetric, found: Sequence[Disturbance], host: str) -> JudgedMetric:
    told = [each for each in found if each.touches(entry)]
    seen_load = [each for each in told if each.kind != HOST]
    # On an own host load that was seen explains why paths fall together.
    told = seen_load or told if host == "own" else told
    if not told or entry.code == FELL_TOGETHER.code:
        return entry
    of_own_host = host == "own" and not seen_load
    if not _bad(entry) or _too_good(entry):
        return entry if of_own_host else replace(entry, disturbance=told[0].kind)
    if of_own_host and entry.verdict != "FAIL":
        return replace(entry, disturbance=OWN_HOST)
    cause = "; ".join(each.words for each in told)
    if of_own_host:
        finding = FELL_TOGETHER.finding(entry.name, figure=entry.full_reason, cause=cause, days=thresholds.HOST_BROKEN)
    else:
        until = " and ".join(dict.fromkeys(each.until for each in told))
        finding = DISTURBED.finding(entry.name, figure=entry.full_reason, cause=cause, until=until)
    return entry.judged_as(finding, disturbance=OWN_HOST if of_own_host else told[0].kind)


def _bad(entry: JudgedMetric) -> bool:
    return entry.verdict in ("FAIL", "DEGRADED")


def _too_good(entry: JudgedMetric) -> bool:
    """Whether it lies beyond its bound on the side that nobody's load leads to."""
    reference = entry.reference
    if reference is None or entry.value is None or entry.unit == "1":
        return False
    if entry.unit in TIME_UNITS:
        return reference.lowest is not None and entry.value < reference.lowest
    return reference.highest is not None and entry.value > reference.highest


def _is_told_once(entry: JudgedMetric) -> bool:
    """Whether its reason is that of others of the same disturbance."""
    explained = bool(entry.disturbance) and entry.verdict == "INDETERMINATE"
    return explained or entry.code == FELL_TOGETHER.code


def _of_document(document: Document) -> list[Disturbance]:
    uses = machine_uses(document.raw)
    found = [*_cpus(uses, document.node), *_steal(uses)]
    groups = link_groups(document.node)
    by_pci = {gpu.pci: gpu.index for gpu in document.node.gpus}
    there: dict[int, dict[str, list[GpuProcess]]] = {}
    for process in (process for use in uses for process in use.gpu_processes):
        gpu = by_pci.get(process.pci) if process.gpu is None else process.gpu
        if gpu is not None:
            there.setdefault(gpu, {}).setdefault(process.command or "a process", []).append(process)
    for gpu, named in there.items():
        told = []
        for name, those in named.items():  # python3 of alice (pid 14606, 14755)
            users, pids = (dict.fromkeys(each) for each in zip(*((one.user, str(one.pid)) for one in those)))
            of_users = f" of {', '.join(filter(None, users))}" if any(users) else ""
            told.append(f"{name}{of_users} (pid {', '.join(pids)})")
        words = f"other processes used GPU {gpu}: {', '.join(told)}"
        until = _gone(named) if all(process.command for those in named.values() for process in those) else _gone(())
        found.append(Disturbance("gpu", words, until, groups.get(gpu, frozenset([gpu]))))
    return found


def _gone(names: Iterable[str]) -> str:
    """When to run again: ``when python3 is gone``."""
    known = list(dict.fromkeys(names))
    if not known:
        return "when they have ended"
    return f"when {', '.join(known)} {'is' if len(known) == 1 else 'are'} gone"


def _cpus(uses: Iterable[MachineUse], node: Node) -> list[Disturbance]:
    cpus = len({cpu for package in node.packages for cpu in package.cpus})
    use = max(uses, key=lambda use: use.others or 0.0, default=None)
    if use is None or use.others is None or use.others < max(thresholds.OTHER_CPUS, thresholds.OTHER_CPU_SHARE * cpus):
        return []
    named = ", ".join(f"{each.command} of {each.user or 'an unknown user'} {each.cpus:.1f}" for each in use.busiest)
    of_all = f" of {cpus}" if cpus else ""
    who = f" ({named})" if named else ""
    words = f"meanwhile other processes kept {use.others:.1f}{of_all} CPUs busy{who}"
    return [Disturbance("cpus", words, _gone(each.command for each in use.busiest))]


def _steal(uses: Iterable[MachineUse]) -> list[Disturbance]:
    for use in uses:
        wanted = max(1.0, use.own + (use.others or 0.0))
        if use.steal is not None and use.steal >= thresholds.STEAL_SHARE * wanted:
            words = (
                f"meanwhile the hypervisor withheld {use.steal:.2f} CPUs of {wanted:.1f} that were wanted (steal time)"
            )
            return [Disturbance("steal", words, _QUIET_HOST)]
    return []


def _memory(flow: Flow) -> int | None:
    return flow.destination.index if flow.kind == "stream" else flow.numa_node


def _lone_host(metric: JudgedMetric) -> bool:
    cell = metric.cell
    return metric.quantity == "copy" and cell is not None and cell.lone and cell.flows[0].kind == "host"


def _way(metric: JudgedMetric) -> tuple[int, str]:
    flow = metric.cell.flows[0]  # type: ignore[union-attr]
    return flow.numa_node or 0, flow.direction


def _on(flow: Flow, memory: int, way: str) -> bool:
    if _memory(flow) != memory or flow.tasks > 1:
        return False
    return flow.kind == "stream" or (flow.kind == "host" and flow.direction == way and not flow.options)


def _fall(metric: JudgedMetric) -> float | None:
    """How far a rate lies below what is expected, as a part of it; None of what has no expectation."""
    if metric.unit != "GB/s" or metric.derived or metric.value is None:
        return None
    expected = metric.reference.value if metric.reference else metric.baseline.median if metric.baseline else None
    return None if not expected else 1 - metric.value / expected


def _part(flow: Flow, groups: Mapping[int, frozenset[int]]) -> frozenset[int] | str:
    """What a path has for itself: the link of its GPU, or the cores."""
    return "cores" if flow.kind == "stream" else groups.get(flow.gpus[0], frozenset(flow.gpus))


def _even_shares(
    total: JudgedMetric, judged: Sequence[JudgedMetric], groups: Mapping[int, frozenset[int]]
) -> list[float]:
    """What the flows of a sum moved, where they share nothing but one NUMA node's memory and move alike; else nothing."""
    cell = total.cell
    if cell is None or cell.lone or total.unit != "GB/s" or {flow.kind for flow in cell.flows} != {"host"}:
        return []
    if len({(flow.numa_node, flow.direction) for flow in cell.flows}) > 1:
        return []
    if len({groups.get(flow.gpus[0], frozenset(flow.gpus)) for flow in cell.flows}) < len(cell.flows):
        return []
    own = [m.value for m in judged if m.subject == total.subject and m.flow is not None and not m.derived and m.value]
    return own if len(own) == len(cell.flows) and min(own) >= thresholds.EVEN * max(own) else []
