"""Findings gathered from a results directory and from health findings: those that are believed, and why others are not."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import inf
from pathlib import Path

from nearfar.errors import CouldNotJudge, NearfarError
from nearfar.ladder import HEALTH
from nearfar.slurm import health_finding, pair_runs, result
from nearfar.slurm.observed import RUN, CheckRun, seconds
from nearfar.slurm.sweep import pairing
from nearfar.slurm.trust import Trust

#: Seconds that a node's clock may be ahead of this one's.
CLOCKS = 300.0


@dataclass(frozen=True)
class Gathered:
    """Check runs that are believed, and one line for each file that is not."""

    runs: tuple[CheckRun, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Window:
    """Which results are read: all that came after ``recent`` (seconds since 1970), and of nodes with a FAIL among them, or in
    ``whole``, those after ``oldest`` too. What a node without a FAIL did before decides nothing, and is most of what there is.
    """

    oldest: float
    recent: float = 0.0
    whole: Collection[str] = ()


def gather(
    results: Path | None, health: Path | None, system: str, users: frozenset[int], now: float, window: Window
) -> Gathered:
    """All believed check runs of a system within a window.

    ``users``: whose results count; health findings count as root's alone. Raises ``CouldNotJudge`` for a directory that
    cannot be listed: what is in it is not known then.
    """
    runs: list[CheckRun] = []
    refused: list[str] = []
    if results is not None:
        found, problems = _results(results, system, users, now, window)
        runs, refused = runs + found, refused + problems
    if health is not None:
        found, problems = _health(health, system, now, window.oldest)
        runs, refused = runs + found, refused + problems
    return Gathered(tuple(runs), tuple(refused))


def of_sweep(results: Path, sweep: str, system: str, users: frozenset[int], now: float) -> Gathered:
    """All believed check runs of one sweep."""
    runs, refused = _results(results, system, users, now, Window(0.0), sweep)
    return Gathered(tuple(runs), tuple(refused))


class _Believed:
    """Results as they are read. Only what is decided on is kept of each: a week of many nodes' verdicts is more than a host's
    memory."""

    def __init__(self, trust: Trust, system: str, now: float, oldest: float) -> None:
        self._trust, self._system, self._now, self._oldest = trust, system, now, oldest
        self._runs: dict[tuple[str, str], tuple[CheckRun, ...]] = {}
        self._said: dict[tuple[str, str], object] = {}
        self._twice: dict[tuple[str, str], Path] = {}
        self._refused: list[str] = []

    def read(self, place: Path) -> None:
        """Take over a result, or why it is not believed."""
        try:
            one = result.read(place, self._trust)
            if one.system != self._system or seconds(one.ended) < self._oldest:
                return
            _refuse_the_future(place / result.RESULT, seconds(one.ended), self._now)
        except (CouldNotJudge, OSError) as error:
            self._refused.append(str(error))
            return
        key = one.node, one.run
        if self._said.setdefault(key, _said(one)) != _said(one):
            self._twice[key] = place
        self._runs.setdefault(key, tuple(_check_runs(one)))

    @property
    def failing(self) -> set[str]:
        """The nodes with a FAIL among what was read."""
        return {node for (node, _), runs in self._runs.items() if any(run.failures for run in runs)}

    def all(self) -> tuple[list[CheckRun], list[str]]:
        """The check runs, and a line for each result that is not among them."""
        runs = [run for key, these in self._runs.items() if key not in self._twice for run in these]
        doubtful = [
            f"{place}: run {run} of node {node} is there twice, and not alike; neither is counted"
            for (node, run), place in sorted(self._twice.items())
        ]
        return runs, [*self._refused, *doubtful]


def _results(
    folder: Path, system: str, users: frozenset[int], now: float, window: Window, sweep: str | None = None
) -> tuple[list[CheckRun], list[str]]:
    _listed(folder)
    trust = Trust(folder, users)
    believed = _Believed(trust, system, now, window.oldest)
    older = []
    for place in result.folders(folder, sweep):
        came = _came(place)
        if came >= window.recent:
            believed.read(place)
        elif came >= window.oldest:
            older.append(place)
    whole = {*window.whole, *believed.failing}
    for place in older:
        if place.parent.name in whole:
            believed.read(place)
    runs, refused = believed.all()
    between, problems = _pairs(folder, trust, system, now, window.oldest, sweep)
    return [*runs, *between], [*refused, *problems]


def _came(place: Path) -> float:
    """When a result was renamed into place, which is after its files were written; now where that cannot be told."""
    try:
        return place.lstat().st_mtime
    except OSError:
        return inf


def _pairs(
    folder: Path, trust: Trust, system: str, now: float, oldest: float, sweep: str | None
) -> tuple[list[CheckRun], list[str]]:
    """What the second stages of sweeps say of their nodes: all of a sweep, or nothing."""
    runs: list[CheckRun] = []
    refused = []
    for path in sorted(folder.glob(f"{sweep or '[!.]*'}/{pairing.ROUNDS[0]}")):
        try:
            found = pair_runs.of_sweep(path.parent, trust, system, oldest)
            for run in found:
                _refuse_the_future(path, run.ended, now)
        except (NearfarError, OSError) as error:
            refused.append(f"{error}; MPI between the nodes of {path.parent.name} blames nobody")
            continue
        runs += found
    return runs, refused


def _said(one: result.NodeResult) -> object:
    return one.started, one.ended, [(check.check, check.verdict, check.findings) for check in one.checks]


def _listed(folder: Path) -> None:
    try:
        next(iter(folder.iterdir()), None)
    except OSError as error:
        raise CouldNotJudge(
            f"{folder}: cannot be listed: {error.strerror}; name the directory that sweeps write to"
        ) from None


def _check_runs(one: result.NodeResult) -> Iterable[CheckRun]:
    if one.missing or one.interrupted:
        yield CheckRun(
            one.node, RUN, one.run, seconds(one.started), seconds(one.ended), "INDETERMINATE", source=str(one.folder)
        )
    for check in one.checks:
        yield CheckRun(
            node=one.node, check=check.check, run=one.run, started=seconds(one.started), ended=seconds(one.ended),
            verdict=check.verdict, failures=tuple(f for f in check.findings if f.verdict == "FAIL"),
            passed=result.within_bounds(check.raw.get("metrics", [])),
            parts=one.blamed, source=str(check.folder),
        )  # fmt: skip


def _health(folder: Path, system: str, now: float, oldest: float) -> tuple[list[CheckRun], list[str]]:
    _listed(folder)
    trust = Trust(folder, frozenset({0}))
    runs, refused = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            trust.directory(folder)
            one = health_finding.read(path, trust)
            if one.system != system or seconds(one.time) < oldest:
                continue
            _refuse_the_future(path, seconds(one.time), now)
        except CouldNotJudge as error:
            refused.append(str(error))
            continue
        at = seconds(one.time)
        failures = tuple(f for f in one.findings if f.verdict == "FAIL")
        runs.append(CheckRun(one.node, HEALTH, one.run, at, at, one.verdict, failures, source=str(path)))
    return runs, refused


def _refuse_the_future(path: Path, ended: float, now: float) -> None:
    if ended > now + CLOCKS:
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ended))
        raise CouldNotJudge(f"{path}: of {when}, which is not yet; set the node's clock, or this host's; not counted")
