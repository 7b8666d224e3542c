"""The runs of a delivery by node, those that say something of the node as it is now, and what its checks say in all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from nearfar.base import NOT_JUDGED, ORDER, Finding, worst
from nearfar.history import short_name
from nearfar.topology import Node
from nearfar.verdict import UNJUDGED, UNREFERENCED, JudgedMetric, NodeRun, RunDirectory, Verdict

from . import messages, parts
from .decision import MeasuredRun

#: Origins of references that can accept a figure.
_ACCEPTING = ("tuned", "published", "model")
#: What runs in order say of a node.
BAD, OPEN = "bad", "open"
#: So many passes after a bad run make two of three.
_PASSES = 2


@dataclass
class MeasuredNode:
    """A node's runs with their folders, the earliest first. ``counted`` are those of its GPUs of now, on the order's system."""

    name: str
    runs: list[tuple[str, NodeRun]] = field(default_factory=list)
    counted: list[NodeRun] = field(default_factory=list)
    #: Whether earlier runs had other GPUs.
    boards_changed: bool = False

    @property
    def node(self) -> Node | None:
        """As the newest run describes it."""
        return next((run.node for run in reversed(self.counted) if run.node is not None), None)

    @property
    def verdicts(self) -> list[Verdict]:
        """Of all runs that count."""
        return [check.verdict for run in self.counted for check in run.checks if check.verdict is not None]

    @property
    def checks(self) -> dict[str, list[Verdict | None]]:
        """The same by check; None: it left no verdict."""
        found: dict[str, list[Verdict | None]] = defaultdict(list)
        for run in self.counted:
            for check in run.checks:
                found[check.name].append(check.verdict)
        return found

    @property
    def shown_runs(self) -> tuple[MeasuredRun, ...]:
        """As documents have them."""
        return tuple(
            MeasuredRun(folder, _time(run), {check.name: check.word for check in run.checks}, run in self.counted)
            for folder, run in self.runs
        )


def by_node(runs: Sequence[RunDirectory], system: str | None) -> dict[str, MeasuredNode]:
    """The measured nodes of some runs by name; of modelled ones nothing is known."""
    nodes: dict[str, MeasuredNode] = {}
    for run in runs:
        for each in run.nodes:
            if not each.modelled:
                name = short_name(each.name)
                nodes.setdefault(name, MeasuredNode(name)).runs.append((str(run.folder), each))
    for node in nodes.values():
        node.runs.sort(key=lambda each: _time(each[1]))
        own = [run for _, run in node.runs if system is None or run.system == system]
        now = parts.boards(own[-1]) if own else frozenset()
        # A run may have lost GPUs; with others it was of another node.
        node.counted = [run for run in own if (had := parts.boards(run)) <= now or now <= had]
        node.boards_changed = len(node.counted) < len(own)
    return nodes


def _time(run: NodeRun) -> str:
    return min((check.verdict.time for check in run.checks if check.verdict is not None), default="")


def standing(bad: Sequence[bool]) -> str:
    """Where runs in order leave a node: ``BAD`` where the newest is, ``OPEN`` where one was and too few passed since; else empty."""
    since = next((passed for passed, each in enumerate(reversed(bad)) if each), None)
    return "" if since is None or since >= _PASSES else OPEN if since else BAD


def of_check(name: str, runs: Sequence[Verdict | None], unjudged: Collection[tuple[str, str]]) -> Iterator[Finding]:
    """What a check says of a node: the newest run that could be judged counts, hard evidence of any, and what failed and passed only once
    since is open. ``unjudged``: the figures (check, metric) that were compared with nothing but references."""
    said = [(verdict, list(_of_verdict(verdict, unjudged))) for verdict in runs if verdict is not None]
    if not said:
        yield messages.NO_VERDICT.finding(name)
        return
    words = [worst([NOT_JUDGED, *(finding.verdict for finding in findings)]) for _, findings in said]
    conclusive = [at for at, word in enumerate(words) if word != "INDETERMINATE"]
    newest = conclusive[-1] if conclusive else len(said) - 1
    yield from said[newest][1]
    for _, findings in said[:newest]:
        yield from (finding for finding in findings if finding.hard and finding.verdict == "FAIL")
    bad = [words[at] in ("FAIL", "DEGRADED") for at in conclusive]
    if standing(bad) == OPEN:
        last = [at for at, is_bad in zip(conclusive, bad) if is_bad][-1]
        yield messages.FAILED_BEFORE.finding(name, was=words[last], day=said[last][0].time[:10])


def _of_verdict(verdict: Verdict, unjudged: Collection[tuple[str, str]]) -> Iterator[Finding]:
    for finding in verdict.findings:
        # That nothing was judged is said below, of what was compared with nothing else either.
        if finding.verdict in ORDER[:3] and finding.subject != UNJUDGED:
            yield finding
    open_figures = 0
    for metric in verdict.metrics:
        if _without_reference(metric):
            open_figures += (verdict.check, metric.name) in unjudged
        elif metric.verdict in ORDER[:3]:
            yield metric.finding
    if open_figures:
        yield messages.UNJUDGED.finding(verdict.check, figures=open_figures)


def _without_reference(metric: JudgedMetric) -> bool:
    """Whether no reference that can accept a node speaks of a figure that is not bad."""
    origin = None if metric.reference is None else metric.reference.origin
    return metric.code in UNREFERENCED or (metric.verdict == "PASS" and origin not in _ACCEPTING)
