"""Which FAILs of runs stand: hard evidence at once, a slow figure when the run before was as slow, or so many nights were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.slurm.ledger import CheckRun, Evidence

_DAY = 86400.0
#: Runs that end so far apart are of two nights.
_NIGHT = _DAY / 2


def fails(runs: Iterable[CheckRun], policy: Policy, since: float, now: float) -> list[Evidence]:
    """All FAILs of one node's runs that began after ``since``, worst first; each figure once, and slow ones only where they are
    young enough."""
    found: list[Evidence] = []
    for newest_first in _by_check(runs, since):
        found += _hard(newest_first)
        found += _speed(newest_first, policy, now)
    return sorted(found, key=lambda each: each.severity)


def slow_figures(runs: Iterable[CheckRun], policy: Policy, since: float, now: float) -> list[Evidence]:
    """As ``fails``, without the hard one."""
    runs = tuple(runs)
    if not any(run.failures for run in runs):
        return []  # as of most nodes
    found = [each for newest_first in _by_check(runs, since) for each in _speed(newest_first, policy, now)]
    return sorted(found, key=lambda each: each.severity)


def _by_check(runs: Iterable[CheckRun], since: float) -> Iterator[list[CheckRun]]:
    """The runs of each check that began after ``since``, newest first."""
    checks: dict[str, list[CheckRun]] = defaultdict(list)
    for run in runs:
        if run.began > since:
            checks[run.check].append(run)
    for these in checks.values():
        yield sorted(these, key=lambda run: (run.ended, run.run), reverse=True)


def _hard(newest_first: Sequence[CheckRun]) -> list[Evidence]:
    """It stands whatever later runs say."""
    found: dict[tuple[str, str | None], Evidence] = {}
    for run in newest_first:
        for finding in run.failures:
            if finding.hard:
                words = run.confirmed or "hard evidence needs no second run"
                found.setdefault((finding.subject, finding.code), Evidence(run, finding, stands=True, why=words))
    return list(found.values())


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
    if newest.confirmed:
        return Evidence(newest, finding, stands=True, why=newest.confirmed)
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
    runs = ", ".join(run.run for run in nights[1 : rule.nights])
    return Evidence(
        last, finding, stands=True, why=f"slow on {len(nights)} of the last {rule.of} nights (also in run {runs})"
    )


def _of(run: CheckRun, name: str) -> Finding | None:
    return next((f for f in run.failures if f.subject == name and not f.hard), None)


def _apart(earlier: CheckRun, later: CheckRun) -> bool:
    """Whether two results are of two runs: other names, and one over before the other began."""
    return earlier.run != later.run and earlier.ended <= later.started
