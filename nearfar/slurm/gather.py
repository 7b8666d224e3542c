"""Findings gathered from a results directory and from health findings: those that are believed, and why others are not."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
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


def gather(
    results: Path | None, health: Path | None, system: str, users: frozenset[int], now: float, oldest: float
) -> Gathered:
    """All believed check runs of a system that ended after ``oldest`` (seconds since 1970).

    ``users``: whose results count; health findings count as root's alone. Raises ``CouldNotJudge`` for a directory that
    cannot be listed: what is in it is not known then.
    """
    runs: list[CheckRun] = []
    refused: list[str] = []
    if results is not None:
        found, problems = _results(results, system, users, now, oldest)
        runs, refused = runs + found, refused + problems
    if health is not None:
        found, problems = _health(health, system, now, oldest)
        runs, refused = runs + found, refused + problems
    return Gathered(tuple(runs), tuple(refused))


def of_sweep(results: Path, sweep: str, system: str, users: frozenset[int], now: float) -> Gathered:
    """All believed check runs of one sweep."""
    runs, refused = _results(results, system, users, now, 0.0, sweep)
    return Gathered(tuple(runs), tuple(refused))


def _results(
    folder: Path, system: str, users: frozenset[int], now: float, oldest: float, sweep: str | None = None
) -> tuple[list[CheckRun], list[str]]:
    _listed(folder)
    trust = Trust(folder, users)
    # Only what is decided on is kept of each: a week of many nodes' verdicts is more than a host's memory.
    runs: dict[tuple[str, str], tuple[CheckRun, ...]] = {}
    said: dict[tuple[str, str], object] = {}
    refused, twice = [], {}
    for place in result.folders(folder, sweep):
        try:
            if place.lstat().st_mtime < oldest:
                continue  # an unread one: its files were all written before it was renamed
            one = result.read(place, trust)
            if one.system != system or seconds(one.ended) < oldest:
                continue
            _refuse_the_future(place / result.RESULT, seconds(one.ended), now)
        except (CouldNotJudge, OSError) as error:
            refused.append(str(error))
            continue
        key = one.node, one.run
        if said.setdefault(key, _said(one)) != _said(one):
            twice[key] = place
        runs.setdefault(key, tuple(_check_runs(one)))
    for (node, run), place in sorted(twice.items()):
        del runs[node, run]
        refused.append(f"{place}: run {run} of node {node} is there twice, and not alike; neither is counted")
    between, problems = _pairs(folder, trust, system, now, oldest, sweep)
    return [*(run for these in runs.values() for run in these), *between], [*refused, *problems]


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
        figures = check.raw.get("metrics", [])
        yield CheckRun(
            node=one.node, check=check.check, run=one.run, started=seconds(one.started), ended=seconds(one.ended),
            verdict=check.verdict, failures=tuple(f for f in check.findings if f.verdict == "FAIL"),
            passed=frozenset(sys.intern(m["name"]) for m in figures if m["verdict"] in ("PASS", "DEGRADED") and m.get("reference")),
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
