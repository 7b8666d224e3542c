"""Which FAILs of runs stand: hard evidence at once, a slow figure only when the run before was as slow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nearfar.site import Policy
from nearfar.slurm.results import ResultFinding

from .check_run import CheckRun

#: The code of a cell that arrived wrong.
WRONG_DATA = "wrong_data"
#: What a part's letter stands for.
_PARTS = {"g": "a GPU", "n": "a NUMA node"}


@dataclass(frozen=True)
class FailOfRun:
    """A FAIL and the run that it is of. ``stands``: it may be acted on; else ``why`` says what is missing."""

    found: CheckRun
    finding: ResultFinding
    stands: bool
    why: str

    @property
    def kind(self) -> tuple[str, str, bool]:
        """What it has in common with other nodes' evidence: check, metric without the parts' numbers, whether it is hard."""
        return self.found.check, general(self.finding.what), self.finding.hard

    @property
    def severity(self) -> tuple[bool, float, str, str]:
        """Worst first: hard evidence, then by how far the figure is from its limit."""
        finding = self.finding
        gap = 0.0
        if finding.value is not None and finding.limit:
            ratio = abs(finding.value / finding.limit)
            gap = ratio if ratio < 1 else 1 / ratio
        return not finding.hard, gap, self.found.check, finding.what


@dataclass(frozen=True)
class SharedFault:
    """What is found on so many nodes at once that it is not the nodes: a figure outside its bounds, or ``hard`` evidence."""

    check: str
    metric: str
    nodes: tuple[str, ...]
    tested: int
    hard: bool = False

    @property
    def words(self) -> str:
        """One sentence."""
        if self.hard:
            what = f"{self.check} {_PARTS.get(self.metric, self.metric)}"
            return (
                f"{what} is hard evidence on {len(self.nodes)} of {self.tested} nodes at once: look at the driver, at what was "
                "changed, at the power; no node is drained for it, a person decides"
            )
        return (
            f"{self.check} {self.metric} fails on {len(self.nodes)} of {self.tested} nodes at once: look at its reference or at "
            f"the driver; no node is drained for it"
        )


def evidence(runs: Iterable[CheckRun], policy: Policy, since: float, now: float) -> list[FailOfRun]:
    """All FAILs of one node's runs that began after ``since``, worst first; each figure once, and slow ones only where they are
    young enough."""
    found: list[FailOfRun] = []
    for newest_first in _by_check(runs, since):
        found += _hard(newest_first)
        found += _speed(newest_first, policy, now)
    return sorted(found, key=lambda each: each.severity)


def speed(runs: Iterable[CheckRun], policy: Policy, since: float, now: float) -> list[FailOfRun]:
    """As ``evidence``, without the hard one."""
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


def _hard(newest_first: Sequence[CheckRun]) -> list[FailOfRun]:
    """It stands whatever later runs say."""
    found: dict[tuple[str, str | None], FailOfRun] = {}
    for run in newest_first:
        for finding in run.failures:
            if finding.hard:
                words = run.confirmed or "hard evidence stands at once"
                found.setdefault((finding.what, finding.code), FailOfRun(run, finding, True, words))
    return list(found.values())


def _speed(newest_first: Sequence[CheckRun], policy: Policy, now: float) -> list[FailOfRun]:
    """A figure whose newest judgement is FAIL; it stands if the run before that one judged it so too."""
    names = {f.what for run in newest_first for f in run.failures if not f.hard}
    found = []
    for name in sorted(names):
        judged = [(run, _of(run, name)) for run in newest_first if name in run.passed or _of(run, name) is not None]
        newest, finding = judged[0]
        if finding is None or now - newest.known > policy.max_age:
            continue
        if newest.confirmed:
            found.append(FailOfRun(newest, finding, True, newest.confirmed))
            continue
        before = next(((run, low) for run, low in judged[1:] if _apart(run, newest)), None)
        if before is None:
            found.append(FailOfRun(newest, finding, False, "seen once: a second run has to confirm it"))
        elif before[1] is None:
            words = f"not confirmed: run {before[0].run} before it was inside the bounds"
            found.append(FailOfRun(newest, finding, False, words))
        elif newest.ended - before[0].ended > policy.confirm_within:
            found.append(FailOfRun(newest, finding, False, f"not confirmed: run {before[0].run} is too long ago"))
        else:
            found.append(FailOfRun(newest, finding, True, f"confirmed by run {before[0].run}"))
    return found


def _of(run: CheckRun, name: str) -> ResultFinding | None:
    return next((f for f in run.failures if f.what == name and not f.hard), None)


def _apart(earlier: CheckRun, later: CheckRun) -> bool:
    """Whether two results are of two runs: other names, and one over before the other began."""
    return earlier.run != later.run and earlier.ended <= later.started


def blamed(
    found: Mapping[str, Sequence[FailOfRun]], runs: Sequence[CheckRun], policy: Policy, now: float
) -> list[SharedFault]:
    """What is found on many nodes at once (less than ``max_age`` apart), confirmed or not. Which GPU or NUMA node it was does not
    matter. Wrong data is never among it: whatever its cause, jobs on these nodes would have it too, and not know."""
    failing: dict[tuple[str, str, bool], list[tuple[float, str]]] = defaultdict(list)
    for node, these in found.items():
        for each in these:
            if each.finding.code != WRONG_DATA and each.finding.what:
                failing[each.kind].append((each.found.known, node))
    tested: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        if now - run.known <= policy.max_age:
            tested[run.check].add(run.node)
    blames = []
    for (check, metric, hard), places in sorted(failing.items()):
        for nodes in _at_once(places, policy.max_age):
            of = len(tested[check] | nodes)
            if len(nodes) >= max(policy.same_metric.nodes, 2) and len(nodes) >= policy.same_metric.share * of:
                blames.append(SharedFault(check, metric, tuple(sorted(nodes)), of, hard))
    return blames


def _at_once(places: Sequence[tuple[float, str]], apart: float) -> Iterator[set[str]]:
    """The nodes of (time, node) in groups, each less than ``apart`` seconds after the one before."""
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


def general(what: str) -> str:
    """A metric's name without the numbers of the parts: ``near.n0_g1`` and ``near.n1_g3`` are both ``near.n_g``."""
    return re.sub(r"(?<![A-Za-z])([a-z])\d+", r"\1", what)
