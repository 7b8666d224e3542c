"""Hard evidence against a node: what is open, what has closed it, and what is still to be written into the log.

Absent GPUs, wrong data, uncorrectable errors stand whatever later runs say, however old they grow. They are closed by a person's
word (``clear``), or by a repair together with a full passing run that covers that part: a reboot, a drain or a resume by
somebody other than ``act``, after the finding was known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from nearfar.base import NearfarError, good, passes
from nearfar.cells import parse
from nearfar.question import covering_health
from nearfar.site import HEALTH, MPI_PAIRS, Policy
from nearfar.slurm.controller import NodeState

from .check_run import CheckRun
from .evidence import Evidence, Intervention
from .interventions import interventions
from .log_summary import LogSummary, answered_key

#: The level that is no full run.
_QUICK = "quick"


@dataclass(frozen=True)
class HardEvidence:
    """All hard evidence of a node: what is open, worst first, what a repair and a full passing run have closed, and what the log
    does not hold yet (open or closed)."""

    open: tuple[Evidence, ...] = ()
    closed: tuple[Evidence, ...] = ()
    new: tuple[Evidence, ...] = ()

    @property
    def waiting(self) -> tuple[Evidence, ...]:
        """Of what is open that after which something was done about the node: a full run that passes is all it needs."""
        return tuple(each for each in self.open if each.interventions)


def of_node(runs: Sequence[CheckRun], name: str, state: NodeState | None, past: LogSummary, now: float) -> HardEvidence:
    """The hard evidence of a node: the log's, and what its runs add."""
    everything = () if state is None else tuple(interventions(name, runs, state, past, now))
    new = tuple(_new(runs, name, everything, past))
    open_, closed = [], []
    for one in (*past.evidence.get(name, ()), *new):
        after = tuple(each for each in everything if each.until > one.found_by.known)
        one = replace(one, interventions=after)
        one = replace(one, closed_by=passed_fully(one, runs))
        if one.closed_by is not None:
            closed.append(one)
        else:
            open_.append(_judged(one, name))
    return HardEvidence(tuple(sorted(open_, key=lambda each: each.severity)), tuple(closed), new)


def that_drains(hard: HardEvidence, policy: Policy) -> HardEvidence:
    """What of a node's evidence keeps it drained: that of checks which the site lets drain."""
    return replace(hard, open=tuple(e for e in hard.open if policy.step(e.found_by.check, True) == "drain"))


def _new(runs: Sequence[CheckRun], name: str, done: Sequence[Intervention], past: LogSummary) -> Iterator[Evidence]:
    """What the log does not hold. A health check finds the same every few minutes: it is new only when somebody has been there
    since, or something else was found."""
    known = {one.key for one in (*past.evidence.get(name, ()), *past.closed_evidence.get(name, ()))}
    last_found: dict[tuple[object, ...], float] = {}
    for one in past.evidence.get(name, ()):
        last_found[one.signature] = max(last_found.get(one.signature, 0.0), one.found_by.known)
    for run in sorted(runs, key=lambda run: run.known):
        for finding in run.failures:
            one = Evidence(run, finding)
            if not finding.hard or one.key in known:
                continue
            answered = max(past.answered.get((name,), 0.0), past.answered.get(answered_key(name, one), 0.0))
            if run.known <= answered:
                continue
            before = last_found.get(one.signature, inf) if run.check == HEALTH else inf
            if before < inf and not any(before < each.until <= run.known for each in done):
                continue
            known.add(one.key)
            last_found[one.signature] = run.known
            yield one


def passed_at(closed: Evidence) -> float:
    """When the run that closes a finding was known to have passed, in seconds since 1970."""
    assert closed.closed_by is not None
    return closed.closed_by.known


def passed_fully(one: Evidence, runs: Sequence[CheckRun]) -> CheckRun | None:
    """The run that closes a finding: full, passed, begun after something was done about the node, and with the part that it
    speaks of; None where there is none."""
    if not one.interventions:
        return None

    def after(run: CheckRun) -> bool:
        return any(each.before(run) for each in one.interventions)

    by_run: dict[str, list[CheckRun]] = defaultdict(list)
    for run in runs:
        if run.check not in (HEALTH, MPI_PAIRS):
            by_run[run.run].append(run)
    for these in by_run.values():
        full = all(after(run) and passes(run.verdict) and run.level != _QUICK for run in these)
        if full and _covers(these, filter(after, runs), one):
            return these[0]
    return None


def _covers(these: Sequence[CheckRun], after: Iterable[CheckRun], one: Evidence) -> bool:
    check = one.found_by.check
    if check == MPI_PAIRS:
        return any(run.check == MPI_PAIRS and good(run.verdict) for run in after)
    cell = _cell(one.finding.fields.get("cell") or one.finding.subject)
    if cell is not None:
        return any(cell in map(_cell, run.cells) for run in these)
    right = (check, covering_health() if check in (HEALTH, _QUICK) else check)
    return any(run.check in right and good(run.verdict) for run in these)


def _cell(text: str) -> object:
    """A cell as it compares; None for what is none."""
    try:
        return parse(text)
    except NearfarError:
        return None


def _judged(one: Evidence, name: str) -> Evidence:
    """Open evidence with whether it stands, and why."""
    closes = f"a full run that passes closes it, or: nearfar slurm clear {name} --because WORDS"
    person = next((each for each in one.interventions if each.person), None)
    if person is not None:
        return replace(one, stands=False, why=f"{person.words}; {closes}")
    why = one.found_by.confirmed or "hard evidence stands at once"
    rebooted = "".join(f"; {each.words}: {closes}" for each in one.interventions)
    return replace(one, stands=True, why=f"{why}{rebooted}")
