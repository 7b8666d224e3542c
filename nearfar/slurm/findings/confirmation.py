"""Which FAILs of runs stand: hard evidence at once, a slow figure when the run before was as slow, or so many nights were. What is found
on many nodes at once is a reference, a driver or the power, and not the nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from nearfar.base import Finding, grouped
from nearfar.site import Policy
from nearfar.slurm.ledger import HARD, CheckRun, Evidence

_DAY = 86400.0
#: Runs that end so far apart are of two nights.
_NIGHT = _DAY / 2


def fails(runs: Iterable[CheckRun], policy: Policy, since: float, now: float) -> list[Evidence]:
    """All FAILs of one node's runs that began after ``since``, worst first; each once, of its newest run. Hard ones stand whatever later
    runs say; slow ones are left out where they are too old."""
    runs = sorted(runs, key=lambda run: (run.ended, run.run))
    failures = ((run, finding) for run in runs if run.began > since for finding in run.failures)
    hard = {
        (run.check, finding.subject, finding.code): Evidence(run, finding, stands=True, why=HARD)
        for run, finding in failures
        if finding.hard
    }
    return sorted([*hard.values(), *slow_figures(runs, policy, since, now)], key=lambda each: each.severity)


def slow_figures(runs: Iterable[CheckRun], policy: Policy, since: float, now: float) -> list[Evidence]:
    """As ``fails``, without the hard one."""
    runs = tuple(runs)
    if not any(run.failures for run in runs):
        return []  # as of most nodes
    found = [each for newest_first in _by_check(runs, since) for each in _speed(newest_first, policy, now)]
    return sorted(found, key=lambda each: each.severity)


def _by_check(runs: Iterable[CheckRun], since: float) -> Iterator[list[CheckRun]]:
    for these in grouped((run.check, run) for run in runs if run.began > since).values():
        yield sorted(these, key=lambda run: (run.ended, run.run), reverse=True)


def _speed(newest_first: Sequence[CheckRun], policy: Policy, now: float) -> list[Evidence]:
    """A figure whose newest judgement is FAIL; it stands if the run before that one judged it so too. What comes and goes stands
    by the nights on which it was slow, whatever was measured between them."""
    names = {f.subject for run in newest_first for f in run.failures if not f.hard}
    found = []
    for name in sorted(names):
        judged = [(run, _of(run, name)) for run in newest_first if name in run.passed or _of(run, name) is not None]
        by_runs = _by_two_runs(judged, policy, now)
        by_nights = None if by_runs is not None and by_runs.stands else _by_nights(newest_first, name, policy, now)
        found += [each for each in [by_nights or by_runs] if each is not None]
    return found


def _by_two_runs(judged: Sequence[tuple[CheckRun, Finding | None]], policy: Policy, now: float) -> Evidence | None:
    """The word of the newest two runs on a figure; None where the newest is not slow, or too old."""
    newest, finding = judged[0]
    if finding is None or now - newest.known > policy.max_age:
        return None
    before = next(((run, low) for run, low in judged[1:] if _apart(run, newest)), None)
    if before is None:
        return Evidence(newest, finding, why="seen once: a second run has to confirm it")
    if before[1] is None:
        return Evidence(newest, finding, why=f"not confirmed: run {before[0].run} before it was inside the bounds")
    if newest.ended - before[0].ended > policy.confirm_within:
        return Evidence(newest, finding, why=f"not confirmed: run {before[0].run} is too long ago")
    return Evidence(newest, finding, stands=True, why=f"confirmed by run {before[0].run}")


def _by_nights(newest_first: Sequence[CheckRun], name: str, policy: Policy, now: float) -> Evidence | None:
    """A figure that was slow on as many of the last nights as the policy asks for, on the last of them FAIL."""
    rule = policy.intermittent
    slow = ((run, finding) for run in newest_first if (finding := _of(run, name)) is not None)
    last, finding = next(slow, (None, None))
    if rule is None or last is None or finding is None or now - last.known > policy.max_age:
        return None
    nights = [last]
    for run in newest_first:
        counts = name in run.intermittent or _of(run, name) is not None
        if counts and nights[-1].ended - run.ended >= _NIGHT and last.ended - run.ended < rule.of * _DAY:
            nights.append(run)
    if len(nights) < rule.nights:
        return None
    also = ", ".join(run.run for run in nights[1 : rule.nights])
    why = f"slow on {len(nights)} of the last {rule.of} nights (also in run {also})"
    return Evidence(last, finding, stands=True, why=why)


def _of(run: CheckRun, name: str) -> Finding | None:
    return next((f for f in run.failures if f.subject == name and not f.hard), None)


def _apart(earlier: CheckRun, later: CheckRun) -> bool:
    return earlier.run != later.run and earlier.ended <= later.started


#: The code of a cell that arrived wrong.
WRONG_DATA = "cell.wrong_data"
#: What a part's letter stands for.
_PARTS = {"g": "a GPU", "n": "a NUMA node"}


@dataclass(frozen=True)
class SharedFault:
    """What is found on so many nodes at once that it is not the nodes: a figure outside its bounds, or ``hard`` evidence."""

    check: str
    metric: str
    nodes: tuple[str, ...]
    tested: int
    hard: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        """What ``Evidence.metric`` is of what it explains."""
        return self.check, self.metric, self.hard

    @property
    def words(self) -> str:
        """One sentence."""
        where = f"on {len(self.nodes)} of {self.tested} nodes at once"
        if self.hard:
            what = f"{self.check} {_PARTS.get(self.metric, self.metric)} is hard evidence {where}"
            return f"{what}: check the driver, recent changes and the power; no node is drained for it until you decide"
        what = f"{self.check} {self.metric} fails {where}"
        return f"{what}: check its reference or the driver; no node is drained for it"


def blamed(
    found: Mapping[str, Sequence[Evidence]], tested: Mapping[str, Collection[str]], policy: Policy
) -> list[SharedFault]:
    """What is found on many nodes at once (less than ``max_age`` apart), confirmed or not. Which GPU or NUMA node it was does not matter.
    Wrong data is never among it: whatever its cause, jobs on these nodes would have it too, and not know. ``found``: by node, closed
    evidence as well. It counts with what is open and was found before it was closed, so that clearing half of the nodes leaves the other
    half as they were; what is found after it is another fault. ``tested``: the nodes that each check ran on within ``max_age``."""
    failing = grouped(
        (each.metric, (each, node)) for node, these in found.items() for each in these
        if each.finding.code != WRONG_DATA and each.finding.subject
    )  # fmt: skip
    blames = []
    for (check, metric, hard), places in sorted(failing.items()):
        first = min((each.found_by.known for each, _ in places if each.closed_at == inf), default=inf)
        counted = [(each.found_by.known, node) for each, node in places if each.closed_at > first]
        open_ = {node for each, node in places if each.closed_at == inf}
        for nodes in _at_once(counted, policy.max_age):
            of = len({*tested.get(check, ()), *nodes})
            many = len(nodes) >= max(policy.same_metric.nodes, 2) and len(nodes) >= policy.same_metric.share * of
            if many and not nodes.isdisjoint(open_):
                blames.append(SharedFault(check, metric, tuple(sorted(nodes)), of, hard))
    return blames


def _at_once(places: Sequence[tuple[float, str]], apart: float) -> Iterator[set[str]]:
    """The nodes in groups, each less than ``apart`` seconds after the one before."""
    group: set[str] = set()
    before = 0.0
    for at, node in sorted(places):
        if group and at - before > apart:
            yield group
            group = set()
        group.add(node)
        before = at
    if group:
        yield group
