"""The reasons of a run in order: causes first, and under each what follows from it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearfar import nccl
from nearfar.base import ORDER, Finding, Message, grouped, shown_verdict
from nearfar.report.explanations import Answer
from nearfar.report.figures import plural
from nearfar.verdict import NOT_ACCEPTED, UNREFERENCED, CheckRecord, NodeRun, Verdict

from . import messages

#: What a reason is. ``ABSENT``: a device is not there; ``PART``: a part of the node is not as it should be; ``FIGURE``: a figure is
#: out of bounds; ``GAP``: something was not measured; ``SHARED``: a GPU that figures out of bounds have in common; ``OTHER``: anything
#: else, which nothing explains and which explains nothing.
ABSENT, PART, FIGURE, GAP, SHARED, OTHER = "absent", "part", "figure", "gap", "shared", "other"

#: The codes of findings that count GPUs: they follow where those that are absent are known.
_GPU_COUNTS = ("gpu.none", "gpu.below_gres")
_PACKAGES, _NUMA_MISSING, _NIC_MISSING = "packages.count", "numa.missing", "nic.missing"
_LINKS_NOT_SEEN = "topology.links_not_seen"

#: So many figures out of bounds that share one GPU, and no fewer, stand under it.
_LEAST_SHARED = 3


@dataclass(frozen=True)
class VerdictReason:
    """A finding of a run, and what it speaks of. ``anchor`` is its place on the page, if it has one; ``cells`` are those it speaks
    of, ``devices`` the parts (``g2``, ``n0``) that a cause speaks of."""

    finding: Finding
    node: NodeRun | None
    check: CheckRecord | None
    anchor: str | None = None
    kind: str = OTHER
    cells: tuple[str, ...] = ()
    devices: frozenset[str] = frozenset()

    @property
    def modelled(self) -> bool:
        """Whether it is of a modelled node."""
        return self.node is not None and self.node.modelled

    @property
    def shown(self) -> str:
        """The verdict's word on a page."""
        return shown_verdict(self.finding.verdict, self.modelled)

    @property
    def rank(self) -> int:
        """The place of its verdict: the worst has the least."""
        return ORDER.index(self.finding.verdict)

    @property
    def prevented_by(self) -> str:
        """Of a gap, what prevented measuring; empty of all else."""
        return str(self.finding.fields.get("cause", "")) if self.kind == GAP else ""


@dataclass(frozen=True)
class ReasonGroup:
    """A cause and what follows from it; a reason by itself has nothing that follows. ``worst``: the worst figure of a cause that
    was found by comparing figures. ``explained``: it says what explains the node's slow figures."""

    cause: VerdictReason
    follows: tuple[VerdictReason, ...] = ()
    worst: VerdictReason | None = None
    explained: bool = False

    @property
    def words(self) -> str:
        """How many follow, as the end of a sentence: ``and 5 figures and 2 gaps that follow from it``; empty where none does, and of
        figures that share a GPU: nobody knows that they follow from it."""
        if self.cause.kind == SHARED or self.cause.finding.code == NOT_ACCEPTED.code:
            return ""
        if self.cause.finding.code == messages.NICS_MISSING.code:
            return plural(len(self.follows), "reason")
        figures = sum(each.kind == FIGURE for each in self.follows)
        others = len(self.follows) - figures
        counts = [plural(figures, "figure")] if figures else []
        counts += [plural(others, "more reason" if figures else "reason")] if others else []
        one = len(self.follows) == 1
        return f"and {' and '.join(counts)} that {'follows' if one else 'follow'} from it" if counts else ""


def of_finding(finding: Finding, verdict: Verdict) -> tuple[str, tuple[str, ...], frozenset[str]]:
    """What a finding is, the cells it speaks of, and the devices that it accuses."""
    known = {each.cell for each in (*verdict.failed, *verdict.skipped, *verdict.left_out)}
    cells = tuple(dict.fromkeys(cell for cell in finding.fields.get("cells", ()) if cell in known))
    absent = {each.cell for each in verdict.failed if each.code == "absent" and each.cell}
    if finding.subject == "missing":
        return GAP, verdict.missing, frozenset()
    if finding.verdict == "FAIL" and finding.subject in absent:
        # Those that the program looked for on the PCI bus, and did not find.
        listed = (verdict.document.get("node") or {}).get("gpus") or ()
        off = frozenset(f"g{gpu['index']}" for gpu in listed if gpu.get("on_bus") is False)
        named = off.union(*(names for names in map(_gpus, absent) if len(names) == 1))
        gone = named or frozenset.intersection(*map(_gpus, absent))
        return ABSENT, (finding.subject,), gone & _gpus(finding.subject)
    if finding.verdict == "FAIL" and re.fullmatch(r"gpus(\.count)?|g\d+", finding.subject):
        return ABSENT, (), frozenset(re.findall(r"^g\d+$", finding.subject))
    if finding.code == _NUMA_MISSING:
        return ABSENT, (), frozenset({finding.subject})
    if finding.code in _GPU_COUNTS or (
        finding.code == _PACKAGES and finding.fields["found"] < finding.fields["expected"]
    ):
        return ABSENT, (), frozenset()
    if finding.code == _LINKS_NOT_SEEN:
        return GAP, (), frozenset(f"g{index}" for index in finding.fields["gpus"])
    accused = re.match(r"([gn]\d+)\.(?!clocks)", finding.subject)
    if finding.verdict == "FAIL" and finding.hard and accused:
        return PART, (), frozenset({accused[1]})
    if finding.verdict == "INDETERMINATE" and finding.code.startswith(("cell.", "cells.")):
        return GAP, cells, frozenset()
    return OTHER, cells, frozenset()


def answered(groups: Sequence[ReasonGroup]) -> set[str]:
    """The folders of the nodes of which a reason says what explains the slow figures."""
    return {g.cause.node.folder.name for g in groups if g.cause.node is not None and g.explained}


def reason_groups(found: Sequence[VerdictReason], answers: Mapping[str, Answer] | None = None) -> list[ReasonGroup]:
    """Every reason once, as a cause or under one: worst first, hard evidence before slowness, what explains others before what does
    not; what is modelled after all that is measured.

    Of one node: an absent GPU explains what could not be measured with it; a part that is not as it should be (a link below the
    site's file) the figures through it; a part that the diagnosis names (``answers``, by the nodes' folders) the figures that it
    explains. Figures out of bounds that share one GPU stand under it. What prevented measuring in several checks stands once. A cause
    explains nothing that is worse than itself.
    """
    left = _with_absent_parts(found)
    groups: list[ReasonGroup] = []
    for cause in sorted(
        (r for r in left if r.kind in (ABSENT, PART) and r.devices),
        key=lambda r: (r.kind != ABSENT, r.rank, bool(r.cells)),
    ):
        if cause not in left:
            continue
        follows = tuple(r for r in left if r is not cause and _follows(r, cause))
        left = [r for r in left if r is not cause and r not in follows]
        groups.append(ReasonGroup(cause, follows))
    named: dict[str, frozenset[str]] = {}
    for folder, answer in (answers or {}).items():
        explained = [
            r for r in left
            if r.kind == FIGURE and r.node is not None and r.node.folder.name == folder and set(r.cells) <= answer.cells
        ]  # fmt: skip
        left = [r for r in left if r not in explained]
        named[folder] = frozenset(part.partition(".")[0] for part in answer.parts)
        if len(explained) == 1 and answer.lone:
            # The figure itself says which path it is, and how slow.
            groups.append(ReasonGroup(explained[0], explained=True))
        elif explained:
            under_part = _under(explained, messages.PART_EXPLAINS, PART, cause=answer.sentence)
            groups.append(replace(under_part, explained=True))
    # What goes through a part that is named may be slow because of it: no other device is suspected.
    through = [
        r for r in left if r.node and any(named.get(r.node.folder.name, frozenset()) & _devices(c) for c in r.cells)
    ]
    for find, leaving in ((_of_collectives, []), (_sharing_a_gpu, through)):
        common = find([r for r in left if r not in leaving])
        groups += common
        left = [r for r in left if not any(r in group.follows for group in common)]
    for alike in _alike(left, lambda r: r.prevented_by):
        checks = len({reason.check.name for reason in alike if reason.check is not None})
        worst = min(alike, key=lambda r: r.rank)
        about = messages.SAME_GAP.finding("", verdict=worst.finding.verdict, cause=worst.prevented_by, checks=checks)
        groups.append(ReasonGroup(replace(worst, finding=about, check=None), alike))
    for counts in _alike(left, lambda r: r.finding.code in _GPU_COUNTS and r.finding.reason):
        groups.append(ReasonGroup(replace(counts[0], check=None), counts))
    for nics in _alike(left, lambda r: r.finding.code == _NIC_MISSING):
        names = [str(r.finding.fields["nic"]) for r in nics]
        about = messages.NICS_MISSING.finding("", hard=True, count=len(nics), nics=names)
        groups.append(ReasonGroup(replace(nics[0], finding=about, anchor=None), nics))
    for figures in _alike(left, lambda r: r.finding.code in (*UNREFERENCED, NOT_ACCEPTED.code)):
        count = sum(r.finding.fields["figures"] for r in figures if r.finding.code == NOT_ACCEPTED.code)
        system = figures[0].node.system if figures[0].node else None
        about = NOT_ACCEPTED.finding("", figures=count or len(figures), system=system)
        groups.append(ReasonGroup(replace(figures[0], finding=about, check=None, anchor=None), figures))
    grouped_ones = {id(reason) for group in groups for reason in group.follows}
    groups += [ReasonGroup(reason) for reason in left if id(reason) not in grouped_ones]
    return sorted(groups, key=_rank)


def _under(
    members: Sequence[VerdictReason], message: Message, kind: str, subject: str = "", **fields: Any
) -> ReasonGroup:
    """Figures below what they have in common, which is as bad as the worst of them."""
    worst = min(members, key=lambda r: r.rank)
    about = message.finding(subject, verdict=worst.finding.verdict, **fields)
    return ReasonGroup(replace(worst, finding=about, check=None, anchor=None, kind=kind), tuple(members), worst)


def _of_collectives(left: Sequence[VerdictReason]) -> list[ReasonGroup]:
    """The slow collectives of a check below what its log, or the node, shows to be the cause; what others had is none."""
    found = []
    for members in grouped((id(r.check), r) for r in left if r.kind == FIGURE).values():
        check = members[0].check
        findings = check.verdict.findings if check is not None and check.verdict is not None else ()
        causes = [f.reason for f in findings if f.code in nccl.CAUSE_CODES and not f.fields.get("how")][:2]
        if causes:
            group = _under(members, messages.COLLECTIVES, SHARED, count=len(members), causes="; ".join(causes))
            found.append(replace(group, cause=replace(group.cause, check=check)))
    return found


def _alike(left: Sequence[VerdictReason], what: Callable[[VerdictReason], object]) -> list[tuple[VerdictReason, ...]]:
    """The reasons of a node of which ``what`` is the same, and true, where there are several."""
    same = grouped(((r.node.folder.name, what(r)), r) for r in left if r.node is not None and what(r))
    return [tuple(alike) for alike in same.values() if len(alike) > 1]


def _sharing_a_gpu(left: Sequence[VerdictReason]) -> list[ReasonGroup]:
    """Figures out of bounds that have one GPU, and no other device, in common: the GPU with the most of them first."""
    found: list[ReasonGroup] = []
    for node in dict.fromkeys(r.node.folder for r in left if r.node is not None and r.kind == FIGURE):
        mine = [r for r in left if r.node is not None and r.node.folder == node and r.kind == FIGURE and r.cells]
        every, parts = len(mine), {id(r): frozenset.union(*map(_devices, r.cells)) for r in mine}
        while mine:
            counts = Counter(gpu for r in mine for gpu in parts[id(r)] if gpu.startswith("g"))
            gpu, count = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
            members = [r for r in mine if gpu in parts[id(r)]]
            if count < _LEAST_SHARED or len(frozenset.intersection(*(parts[id(r)] for r in members))) > 1:
                break
            share = f"all {count}" if count == every else f"{count} of {every}"
            found.append(_under(members, messages.GPU_SHARED, SHARED, gpu, share=share, gpu=gpu[1:]))
            mine = [r for r in mine if r not in members]
    return found


def _rank(group: ReasonGroup) -> tuple[bool, int, bool, bool, bool]:
    cause = group.cause
    no_gpu = cause.kind != ABSENT or any(name.startswith("n") for name in cause.devices)
    return cause.modelled, cause.rank, not cause.finding.hard, no_gpu, not group.follows


def _with_absent_parts(found: Sequence[VerdictReason]) -> list[VerdictReason]:
    """Absent GPUs, and NUMA nodes of absent packages, that a reason counts or has by their bus addresses get the names that other
    reasons of the node have."""

    def named(reason: VerdictReason) -> VerdictReason:
        if reason.kind != ABSENT or reason.cells or reason.devices or reason.node is None:
            return reason
        letter = "n" if reason.finding.code == _PACKAGES else "g"
        gone = (r.devices for r in found if r.kind == ABSENT and r.node and r.node.folder == reason.node.folder)
        return replace(reason, devices=frozenset(name for names in gone for name in names if name.startswith(letter)))

    return [named(reason) for reason in found]


def _follows(reason: VerdictReason, cause: VerdictReason) -> bool:
    same = reason.node is not None and reason.node is cause.node
    if not same or reason.rank < cause.rank:
        return False
    if reason.kind in (ABSENT, GAP) and reason.devices:
        return cause.kind == ABSENT and reason.devices <= cause.devices
    if cause.kind == ABSENT and (reason.kind == ABSENT or (reason.kind in (FIGURE, GAP) and not reason.finding.hard)):
        # The NUMA nodes whose cores work in a cell are parts of it.
        cells = [re.sub(r"\bc(\d+)\b", r"n\1", cell) for cell in reason.cells]
        return bool(cells) and all(_devices(cell) & cause.devices for cell in cells)
    if reason.finding.hard or not reason.cells or reason.kind != FIGURE:
        return False
    return all(_devices(cell) & cause.devices for cell in reason.cells)


def _gpus(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"\bg\d+\b", cell))


def _devices(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"\b[gn]\d+\b", cell))
