"""What MPI between nodes says of each node of a sweep, for ``nearfar slurm act``: all its pairs believed, and judged together.

A node is only blamed by the same figure, slow with two partners one of whom is well with others. The second of the two is the
confirming run of the first: another job, after the first was over, with another partner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, good, worst
from nearfar.site import MPI_PAIRS
from nearfar.slurm.ledger import CheckRun, seconds
from nearfar.slurm.results import NodeResult, Pair, result, results_directory
from nearfar.slurm.sweep import SweepJob, pairing, sweep_file
from nearfar.slurm.trust import Trust

from .result_reading import is_between


def places(sweep: Path, trust: Trust) -> list[Path]:
    """The newest result of each pair of a sweep."""
    return [place for each in _rounds(sweep, trust) for place in each.values() if place is not None]


def of_sweep(sweep: Path, trust: Trust, system: str) -> list[CheckRun]:
    """One run of the check ``mpi_pairs`` for each node of a sweep that was in a measured pair; none where they are of another system.
    Raises ``CouldNotJudge`` for whatever is not believed: without all pairs nobody can be blamed by any."""
    rounds = _rounds(sweep, trust)
    read = {place: result.read(place, trust) for each in rounds for place in each.values() if place is not None}
    if {one.system for one in read.values()} != {system}:
        return []
    runs = {place: _measured(place, one) for place, one in read.items()}
    found = [{pair: None if place is None else runs[place] for pair, place in each.items()} for each in rounds]
    return [replace(run, system=system, sweep=sweep.name) for run in _runs(found)]


def _rounds(sweep: Path, trust: Trust) -> list[dict[Pair, Path | None]]:
    """Of each round the pairs, and where the latest result of each is; None where there is none."""
    rounds = []
    for folder in (sweep / name for name in pairing.ROUNDS if os.path.lexists(sweep / name)):
        trust.directory(folder)
        jobs = sweep_file.parse(folder, trust.object(folder / sweep_file.FILE)).jobs.values()
        rounds.append({Pair(*job.nodes): _latest(folder, job) for job in jobs if len(job.nodes) == 2})
    return rounds


def _latest(folder: Path, job: SweepJob) -> Path | None:
    places = result.place(folder.parent, folder.name, job.name, job.attempt).parent
    there = [int(name) for name in results_directory.names(str(places)) if results_directory.is_attempt(name)]
    latest = max((attempt for attempt in there if 0 < attempt <= job.attempt), default=None)
    if latest is not None:
        return places / str(latest)
    if job.has_result:
        raise CouldNotJudge(f"{folder}: the result of {job.name} is gone; its pairs are not counted")
    return None


def _measured(place: Path, one: NodeResult) -> CheckRun:
    """What a pair's result says of the path between its nodes. Other FAILs are the business of each node's own run."""
    failures = tuple(
        f for check in one.checks for f in result.failures(check) if is_between(f.fields.get("cell") or f.subject)
    )
    verdict = one.verdict if one.verdict != "FAIL" or failures else "INDETERMINATE"
    if one.interrupted:
        verdict = worst([verdict, "INDETERMINATE"])
    passed = frozenset(name for check in one.checks for name in result.within_bounds(check.figures, is_between))
    started, ended = seconds(one.started), seconds(one.ended)
    return CheckRun(
        one.name, MPI_PAIRS, one.run, started, ended, verdict, failures, passed, source=str(place), came=place.lstat().st_mtime,
    )  # fmt: skip


def _runs(rounds: Sequence[Mapping[Pair, CheckRun | None]]) -> Iterator[CheckRun]:
    verdicts = [
        {pair: "INDETERMINATE" if one is None else one.verdict for pair, one in each.items()} for each in rounds
    ]
    measured = {pair: one for each in rounds for pair, one in each.items() if one is not None}
    nodes = list(dict.fromkeys(node for pair in measured for node in pair))
    for node, judged in pairing.judge(nodes, verdicts).items():
        mine = [one for pair, one in measured.items() if node in pair]
        if judged.verdict == "FAIL":
            yield _blamed(node, [measured[pair] for pair in pairing.slow_with(node, verdicts)], judged.words)
        elif judged.verdict == "PASS":
            well = max((one for one in mine if good(one.verdict)), key=lambda one: one.ended)
            yield _check_run(node, "PASS", [well], judged.words, passed=well.passed)
        else:
            yield _check_run(node, "INDETERMINATE", mine, judged.words)


def _blamed(node: str, slow: Sequence[CheckRun], words: str) -> CheckRun:
    """``slow``: the node's failed pairs, the last of them with a partner that is proven."""
    last = slow[-1]
    for first in slow[:-1]:
        known = {(f.subject, f.hard and f.code) for f in first.failures}
        alike = tuple(f for f in last.failures if (f.subject, f.hard and f.code) in known)
        apart = first.ended <= last.started or last.ended <= first.started
        if alike and apart and first.run != last.run:
            confirmed = f"confirmed by run {first.run} with another partner; {words}"
            return _check_run(node, "FAIL", [first, last], words, failures=alike, confirmed=confirmed)
    return _check_run(node, "INDETERMINATE", slow, f"{words}, but no one figure in two runs, one after the other")


def _check_run(node: str, verdict: str, these: Sequence[CheckRun], words: str, **more: Any) -> CheckRun:
    last = these[-1]
    started, ended = min(one.started for one in these), max(one.ended for one in these)
    more |= {"source": last.source, "words": words, "came": max(one.known for one in these)}
    return CheckRun(node, MPI_PAIRS, last.run, started, ended, verdict, **more)
