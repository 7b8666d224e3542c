"""The runs of a delivery by node, those that say something of the node as it is now, and what its checks say in all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nearfar.base import NOT_JUDGED, ORDER, Finding, grouped, worst
from nearfar.history import short_name
from nearfar.report import ruled_out
from nearfar.site import NOT_COMPARED
from nearfar.topology import Node
from nearfar.verdict import UNJUDGED, UNREFERENCED, CheckRecord, JudgedMetric, NodeRun, RunDirectory, Verdict

from . import messages, parts
from .decision import MeasuredRun

#: Origins of references that can accept a figure.
_ACCEPTING = ("tuned", "published", "model")
#: A run of a node as documents have it, what it left, and the checks that it should have had and had not.
_Run = tuple[MeasuredRun, NodeRun, list[str]]
#: What runs in order say of a node.
BAD, OPEN = "bad", "open"
#: So many passes after a bad run make two of three.
_PASSES = 2


@dataclass
class MeasuredNode:
    """A node's runs, the earliest first. ``counted`` are those of its GPUs of now, on the order's system."""

    name: str
    #: As documents have them.
    shown_runs: tuple[MeasuredRun, ...]
    counted: list[NodeRun]
    #: The checks that a run should have had and had not, of those that count.
    lacking: list[str]
    #: The system of the newest run.
    system: str
    #: Whether earlier runs had other GPUs.
    boards_changed: bool

    @cached_property
    def node(self) -> Node | None:
        """As the newest run describes it, with the versions that its programs named."""
        run = next((run for run in reversed(self.counted) if run.node is not None), None)
        if run is None or run.node is None:
            return None
        named = {key: value for check in run.checks if check.verdict for key, value in check.verdict.software.items()}
        return replace(run.node, software={**run.node.software, **named})

    @cached_property
    def checks(self) -> dict[str, list[Verdict | None]]:
        """The verdicts of all runs that count, by check; None: it left none. A quick look is no measurement to accept by."""
        every = ((check.name.partition("@")[0], check.verdict) for run in self.counted for check in run.checks)
        return grouped((name, v) for name, v in every if v is None or not (v.measurement and v.measurement.quick))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The same in one list."""
        return [verdict for own in self.checks.values() for verdict in own if verdict is not None]


def by_node(runs: Iterable[RunDirectory], system: str | None) -> dict[str, MeasuredNode]:
    """The measured nodes of some runs by name; of modelled ones nothing is known. Documents are not kept: a delivery has many."""
    found: dict[str, list[_Run]] = defaultdict(list)
    for run in runs:
        absent = [str(case["check"]) for case in run.missing_cases if not case.get("modelled")]
        for node in (node for node in run.nodes if not (node.modelled or node.foreign)):
            times = [check.verdict.time for check in node.checks if check.verdict is not None]
            time = min(times, default=str(run.raw.get("started", "")))
            checks = {check.name: check.word for check in node.checks}
            shown = MeasuredRun(str(run.folder), time, checks, False, node.kernel_log, tuple(ruled_out(node)))
            own = found[short_name(node.name)]
            # A copy of a run, gathered twice, is no second measurement.
            if all((each.time, each.checks) != (shown.time, shown.checks) for each, _, _ in own):
                own.append((shown, _lean(node), absent))
    return {name: _measured(name, sorted(own, key=lambda each: each[0].time), system) for name, own in found.items()}


def _measured(name: str, runs: Sequence[_Run], system: str | None) -> MeasuredNode:
    own = [run for run in runs if system is None or run[1].system == system]
    now = parts.boards(own[-1][1]) if own else frozenset()
    # A run may have lost GPUs; with others it was of another node.
    counted = [run for run in own if (had := parts.boards(run[1])) <= now or now <= had]
    shown = tuple(replace(run[0], counted=any(run is each for each in counted)) for run in runs)
    lacking = list(dict.fromkeys(check for run in counted for check in run[2]))
    return MeasuredNode(name, shown, [run[1] for run in counted], lacking, runs[-1][1].system, len(counted) < len(own))


def _lean(run: NodeRun) -> NodeRun:
    """With no more of its documents than what its links did under load."""

    def lean(check: CheckRecord) -> CheckRecord:
        document = {key: check.document[key] for key in ("gpus_under_load",) if key in check.document}
        return check if check.verdict is None else replace(check, verdict=replace(check.verdict, document=document))

    return replace(run, checks=tuple(map(lean, run.checks)))


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
        # That nothing was judged is said below, of what was compared with nothing else either; the node is compared with the order.
        if finding.verdict in ORDER[:3] and finding.subject != UNJUDGED and finding.code != NOT_COMPARED.code:
            yield finding
    open_figures = 0
    for metric in verdict.metrics:
        if _without_reference(metric):
            open_figures += (verdict.check, metric.name) in unjudged
        elif metric.verdict in ORDER[:3]:
            yield metric.finding
    if open_figures:
        yield messages.UNJUDGED.finding(verdict.check, figures=open_figures, checks=[verdict.check])


def together(name: str, findings: Iterable[Finding]) -> list[Finding]:
    """Findings of a node, those of figures that nothing was compared with as one."""
    sides = grouped((finding.code == messages.UNJUDGED.code, finding) for finding in findings)
    open_figures = {finding.subject: finding.fields["figures"] for finding in sides.get(True, ())}
    one = messages.UNJUDGED.finding(name, figures=sum(open_figures.values()), checks=list(open_figures))
    return [*sides.get(False, ()), *([one] if open_figures else [])]


def _without_reference(metric: JudgedMetric) -> bool:
    """Whether no reference that can accept a node speaks of a figure that is not bad. Bounds that were only widened, as the software is
    another, accept nothing."""
    accepted = metric.passed and metric.reference is not None and metric.reference.origin in _ACCEPTING
    return metric.code in UNREFERENCED or (metric.verdict == "PASS" and not accepted)
