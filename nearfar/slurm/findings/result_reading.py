"""What the decisions need of a result: little enough that a week of many nodes' fits into a small file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from nearfar.base import Finding, NearfarError, plural
from nearfar.slurm.results import NodeResult, result

from .check_run import RUN, CheckRun, seconds

#: Letters that are kept of what a run says.
_LONGEST = 300


class CheckReading(NamedTuple):
    """A check of a result: its verdict as it counts, and what ``CheckRun`` has of it. ``folder`` is relative to the result's;
    ``between``: of what passed the figures between two nodes."""

    check: str
    verdict: str
    folder: str
    words: str
    failures: tuple[Finding, ...]
    passed: frozenset[str]
    cells: frozenset[str]
    intermittent: frozenset[str]
    between: frozenset[str]


class ResultReading(NamedTuple):
    """A result that is believed. ``name`` is the node's, or ``n1+n2``, ``sweep`` that which it was measured in; times are seconds
    since 1970, by the node's clock. ``undone``: why not all that was to run did (empty: it did). ``said`` is the same of results
    that say the same."""

    name: str
    run: str
    system: str
    sweep: str | None
    started: float
    ended: float
    level: str
    job: bool
    verdict: str
    undone: str
    interrupted: bool
    parts: tuple[str, ...]
    said: str
    checks: tuple[CheckReading, ...]

    @property
    def hard(self) -> bool:
        """Whether it holds hard evidence."""
        return any(finding.hard for check in self.checks for finding in check.failures)

    def check_runs(self, place: Path, came: float) -> Iterator[CheckRun]:
        """Its check runs; ``came``: when it came to be in ``place``."""
        of_run = partial(
            CheckRun, node=self.name, run=self.run, started=self.started, ended=self.ended, came=came, level=self.level, job=self.job
        )  # fmt: skip
        if self.undone:
            yield of_run(check=RUN, verdict="INDETERMINATE", source=str(place), words=self.undone)
        for one in self.checks:
            yield of_run(
                check=one.check, verdict=one.verdict, failures=one.failures, passed=one.passed, cells=one.cells,
                intermittent=one.intermittent, parts=self.parts, source=f"{place}/{one.folder}", words=one.words,
            )  # fmt: skip


def of_result(one: NodeResult) -> ResultReading:
    """What the decisions need of a result."""
    said = repr((one.started, one.ended, [(check.check, check.verdict, check.findings) for check in one.checks]))
    return ResultReading(
        one.name, one.run, one.system, one.sweep, seconds(one.started), seconds(one.ended), one.level, one.slurm is not None, one.verdict,
        _undone(one), one.interrupted, one.blamed, blake2b(said.encode(), digest_size=16).hexdigest(),
        tuple(_check(one, check) for check in one.checks),
    )  # fmt: skip


def _check(one: NodeResult, check: result.CheckResult) -> CheckReading:
    figures, pair = check.figures, len(one.nodes) > 1
    return CheckReading(
        check.check, check.verdict, str(check.folder).removeprefix(f"{one.folder}/"), _words(check), result.failures(check),
        result.within_bounds(figures), result.cells(figures), result.intermittent(figures),
        result.within_bounds(figures, is_between) if pair else frozenset(),
    )  # fmt: skip


def _undone(one: NodeResult) -> str:
    """Why not all that was to run did: the first case that is missing, or that the job was ended; empty where all did."""
    if one.missing:
        more = f" (and {plural(len(one.missing) - 1, 'case')} more)" if len(one.missing) > 1 else ""
        return f"{_cut(one.missing[0])}{more}"
    return "its job was ended before the run was through" if one.interrupted else ""


def _words(check: result.CheckResult) -> str:
    """What a check says of the node where it is neither PASS nor FAIL: its worst finding of that verdict."""
    if check.verdict not in ("INDETERMINATE", "DEGRADED"):
        return ""
    found = next((finding.reason for finding in check.findings if finding.verdict == check.verdict), "")
    return _cut(found or check.reason or "")


def _cut(words: str) -> str:
    one = " ".join(words.split())
    return one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…"


def is_between(subject: Any) -> bool:
    """Whether a figure's subject is between two nodes, as OSU's cases through a NIC and ping-pong across hosts are."""
    from nearfar.mpi import contention
    from nearfar.mpi.osu import subjects

    text = str(subject)
    about = contention.subject(text)
    if about is not None:
        return about.place == "across"
    try:
        return subjects.parse(text).nic is not None
    except NearfarError:
        return False
