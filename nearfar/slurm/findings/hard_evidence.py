"""Hard evidence against a node: what is open, what has closed it, and what is still to be written into the log.

Absent GPUs, wrong data, uncorrectable errors stand whatever later runs say, however old they grow. They are closed by a person's
word (``act --clear``), or by a repair together with a full passing run that covers that part: a reboot, a drain or a resume by
somebody other than ``act``, after the finding was known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from nearfar.base import NearfarError, good, passes
from nearfar.cells import parse
from nearfar.site import HEALTH, MPI_PAIRS, Policy
from nearfar.slurm.controller import NodeState

from .check_run import CheckRun, LogSummary, RecordedEvidence, shown
from .confirmation import FailOfRun
from .log_summary import answered_kind
from .objections import our_reason

#: The check that looks at what the health check looks at.
TOPOLOGY = "topology_check"
#: The level that is no full run.
_QUICK = "quick"
#: Reasons that Slurm gives by itself (its sources, 22.05 to 25.11): nobody has been there.
_SLURMS_OWN = (
    "Not responding", "Node unexpectedly rebooted", "Prolog error", "Epilog error", "Kill task failed", "Low ", "gres/", "batch job ",
    "Duplicate jobid", "reboot timed out", "Reboot ASAP", "Scheduled", "ResumeTimeout", "Powered down", "Node configuration differs",
    "health_check", "NHC:",
)  # fmt: skip


@dataclass(frozen=True)
class Intervention:
    """Something that was done about a node between ``at`` and ``until`` (of a resume it is only known that it lies between).
    It answers what was known before its end. ``person``: somebody else drained or resumed it, and knows."""

    at: float
    until: float
    person: bool
    words: str

    def before(self, run: CheckRun) -> bool:
        """Whether a run began after it. As a job of Slurm it can only have begun after a resume."""
        return run.began > (self.at if run.job else self.until)


@dataclass(frozen=True)
class ClosedEvidence:
    """Evidence that a repair and a full passing run have closed: with that run, and until when what is alike is closed too."""

    one: RecordedEvidence
    passed: CheckRun
    until: float


@dataclass(frozen=True)
class HardEvidence:
    """All hard evidence of a node. ``new``: what the log does not hold yet. ``waiting``: of what is open that after which
    something was done about the node: a full run that passes is all it needs."""

    open: tuple[FailOfRun, ...] = ()
    closed: tuple[ClosedEvidence, ...] = ()
    new: tuple[RecordedEvidence, ...] = ()
    waiting: tuple[tuple[RecordedEvidence, tuple[Intervention, ...]], ...] = ()


def of_node(runs: Sequence[CheckRun], name: str, state: NodeState | None, past: LogSummary, now: float) -> HardEvidence:
    """The hard evidence of a node: the log's, and what its runs add."""
    everything = () if state is None else tuple(_attentions(name, runs, state, past, now))
    new = tuple(_new(runs, name, everything, past))
    open_, closed, waiting = [], [], []
    for one in (*past.evidence.get(name, ()), *new):
        attention = tuple(each for each in everything if each.until > one.found.known)
        passed = passed_fully(one, runs, attention)
        if passed is not None:
            closed.append(ClosedEvidence(one, passed, min(each.until for each in attention)))
            continue
        open_.append(_evidence(one, name, attention))
        if attention:
            waiting.append((one, attention))
    return HardEvidence(tuple(sorted(open_, key=lambda each: each.severity)), tuple(closed), new, tuple(waiting))


def that_drains(hard: HardEvidence, policy: Policy) -> HardEvidence:
    """What of a node's evidence keeps it drained: that of checks which the site lets drain."""

    def drains(check: str) -> bool:
        return policy.step(check, True) == "drain"

    return replace(
        hard,
        open=tuple(each for each in hard.open if drains(each.found.check)),
        waiting=tuple(each for each in hard.waiting if drains(each[0].found.check)),
    )


def closed_before(name: str, past: LogSummary) -> Iterator[FailOfRun]:
    """What was closed on a node: on many nodes at once, the others are still many when one has been seen to."""
    for one in past.was.get(name, ()):
        yield FailOfRun(one.found, one.finding, False, "closed")


def _new(
    runs: Sequence[CheckRun], name: str, attention: Sequence[Intervention], past: LogSummary
) -> Iterator[RecordedEvidence]:
    """What the log does not hold. A health check finds the same every few minutes: it is new only when somebody has been there
    since, or something else was found."""
    known = {one.key for one in past.evidence.get(name, ())} | past.closed
    # A drain's line from before evidence had lines of its own names no part.
    nameless = {one.key[:3] for one in past.evidence.get(name, ()) if not one.finding.what}
    of_kind: dict[tuple[object, ...], float] = {}
    for one in past.evidence.get(name, ()):
        of_kind[one.kind] = max(of_kind.get(one.kind, 0.0), one.found.known)
    for run in sorted(runs, key=lambda run: run.known):
        for finding in run.failures:
            one = RecordedEvidence("", run, finding)
            if not finding.hard or one.key in known or one.key[:3] in nameless:
                continue
            answered = max(past.answered.get((name,), 0.0), past.answered.get(answered_kind(name, one), 0.0))
            if run.known <= answered:
                continue
            before = of_kind.get(one.kind, inf) if run.check == HEALTH else inf
            if before < inf and not any(before < each.until <= run.known for each in attention):
                continue
            known.add(one.key)
            of_kind[one.kind] = run.known
            yield one


def _attentions(
    name: str, runs: Sequence[CheckRun], state: NodeState, past: LogSummary, now: float
) -> Iterator[Intervention]:  # fmt: skip
    """What was done about a node, by Slurm's record of it and the log."""
    drained, others = past.drained.get(name), past.others.get(name)
    if drained is not None and not state.out and not past.retested(name):
        until = min(past.resumed.get(name, now), _resumed(drained.at, runs, state))
        yield Intervention(
            drained.at, until, True, f"somebody has resumed it since it was drained on {shown(drained.at)}"
        )
    if others is not None and not state.out:
        words = f"somebody else had drained it by {shown(others)}, and it is in use again"
        yield Intervention(others, min(now, _resumed(others, runs, state)), True, words)
    if _drained_by_others(state) and state.reason_at is not None:
        given = state.reason_at.timestamp()
        yield Intervention(given, given, True, f"it was drained by somebody else on {shown(given)}")
    if state.booted is not None:
        yield Intervention(state.booted, state.booted, False, f"it was rebooted on {shown(state.booted)}")


def _resumed(drained: float, runs: Sequence[CheckRun], state: NodeState) -> float:
    """The latest moment at which a node that is in use can have been resumed since it was drained: Slurm then sets the time that it
    was busy last, and as a job of Slurm a run can only have begun after it."""
    ran = min((run.began for run in runs if run.job and run.began > drained), default=inf)
    return min(ran, state.busy if state.busy is not None and state.busy > drained else inf)


def resumed_by_others(nodes: Mapping[str, NodeState], past: LogSummary) -> Iterator[str]:
    """Nodes drained by us that are in use though we have not resumed them: what the log does not say yet."""
    for name in past.drained:
        if name in nodes and not nodes[name].out and name not in past.resumed and not past.retested(name):
            yield name


def drained_by_others(
    nodes: Mapping[str, NodeState], hard: Mapping[str, HardEvidence], past: LogSummary
) -> Iterator[str]:  # fmt: skip
    """Nodes with open evidence that are drained by somebody else now, where the log does not say so yet: when they are in use
    again, somebody has resumed them."""
    for name, evidence in hard.items():
        state, known = nodes.get(name), max((each.found.known for each in evidence.open), default=0.0)
        if state is not None and state.drain and _drained_by_others(state) and known > past.others.get(name, 0.0):
            yield name


def _drained_by_others(state: NodeState) -> bool:
    """Whether a node carries the reason of somebody who drained it. From Slurm 25 on it stays after a resume, which sets when the
    node was busy last; a reason that was only written onto a node in use is no drain."""
    reason, given = state.reason, state.reason_at
    if reason is None or reason.startswith(_SLURMS_OWN) or our_reason(state) is not None or "nearfar:" in reason:
        return False
    resumed = given is not None and state.busy is not None and state.busy >= given.timestamp()
    return state.drain or (not state.out and resumed)


def passed_fully(one: RecordedEvidence, runs: Sequence[CheckRun], attention: Sequence[Intervention]) -> CheckRun | None:
    """The run that closes a finding: full, passed, begun after something was done about the node, and with the part that it
    speaks of; None where there is none."""
    if not attention:
        return None

    def after(run: CheckRun) -> bool:
        return any(each.before(run) for each in attention)

    by_run: dict[str, list[CheckRun]] = defaultdict(list)
    for run in runs:
        if run.check not in (HEALTH, MPI_PAIRS):
            by_run[run.run].append(run)
    for these in by_run.values():
        full = all(after(run) and passes(run.verdict) and run.level != _QUICK for run in these)
        if full and _covers(these, filter(after, runs), one):
            return these[0]
    return None


def _covers(these: Sequence[CheckRun], after: Iterable[CheckRun], one: RecordedEvidence) -> bool:
    check = one.found.check
    if check == MPI_PAIRS:
        return any(run.check == MPI_PAIRS and good(run.verdict) for run in after)
    cell = _cell(one.finding.cell or one.finding.what)
    if cell is not None:
        return any(cell in map(_cell, run.cells) for run in these)
    right = (check, TOPOLOGY if check in (HEALTH, _QUICK) else check)
    return any(run.check in right and good(run.verdict) for run in these)


def _cell(text: str) -> object:
    """A cell as it compares; None for what is none."""
    try:
        return parse(text)
    except NearfarError:
        return None


def _evidence(one: RecordedEvidence, name: str, attention: Sequence[Intervention]) -> FailOfRun:
    closes = f"a full run that passes closes it, or: nearfar slurm act --clear {name} --because WORDS"
    person = next((each for each in attention if each.person), None)
    if person is not None:
        return FailOfRun(one.found, one.finding, False, f"{person.words}; {closes}")
    why = one.found.confirmed or "hard evidence stands at once"
    rebooted = "".join(f"; {each.words}: {closes}" for each in attention)
    return FailOfRun(one.found, one.finding, True, f"{why}{rebooted}")
