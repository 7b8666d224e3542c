"""Hard evidence against a node: what is open, what has closed it, and what is still to be written into the log.

Absent GPUs, wrong data, uncorrectable errors stand whatever later runs say, however old they grow. They are closed by a person's
word (``act --clear``), or by a repair together with a full passing run that covers that part: a reboot, a drain or a resume by
somebody other than ``act``, after the finding was known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from nearfar.base import NearfarError, good, passes
from nearfar.cells import parse
from nearfar.site import HEALTH, MPI_PAIRS, Policy
from nearfar.slurm.controller import NodeState

from .check_run import CheckRun
from .evidence import FailOfRun, RecordedEvidence
from .interventions import Intervention, interventions
from .log_summary import LogSummary, answered_kind

#: The check that looks at what the health check looks at.
TOPOLOGY = "topology_check"
#: The level that is no full run.
_QUICK = "quick"


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
    everything = () if state is None else tuple(interventions(name, runs, state, past, now))
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
