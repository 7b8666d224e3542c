"""The pair rounds of a sweep: MPI between two nodes, on disjoint pairs, and each suspect again with a node that passed.

Each round is a sweep of its own in the sweep's directory (``pairs-1`` and so on), of jobs on two nodes each.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import passes, plural, worst
from nearfar.mpi.osu import INSTALL
from nearfar.slurm.controller import Slurm
from nearfar.slurm.results import Pair, joined

from . import begin_or_resume, job_loop, pairing, sweep_file
from .levels import LEVELS, PAIR
from .outcome import Outcome, outcomes
from .pairing import NodeVerdict
from .slurmctld import Pace, print_line
from .sweep_file import Sweep, jobs_for


@dataclass(frozen=True)
class PairRounds:
    """What the rounds found: outcomes by pair, and what to think of each node."""

    rounds: tuple[dict[Pair, Outcome], ...]
    judged: dict[str, NodeVerdict]

    @property
    def by_pair(self) -> dict[Pair, Outcome]:
        """The outcomes of all rounds."""
        return {pair: one for found in self.rounds for pair, one in found.items()}

    def notes(self) -> list[str]:
        """What concerns no single node: what lies between two of them, and that it was not OSU that measured."""
        read = [one.result for one in self.by_pair.values() if one.result is not None]
        own = {check.check for each in read for check in each.checks} & set(LEVELS[PAIR].instead)
        alone = [
            pair for pair, one in self.by_pair.items()
            if one.verdict == "FAIL" and all(self.judged[node].verdict == "PASS" for node in pair if node in self.judged)
        ]  # fmt: skip
        return [
            *(f"MPI between nodes was measured by {name}, because there is no OSU; {INSTALL}" for name in sorted(own)),
            *(f"MPI between {pair.one} and {pair.other} alone is too slow or wrong, and both are well with other partners: check "
              "the cable and the switch between them" for pair in alone),
        ]  # fmt: skip

    def pages(self, folder: Path) -> list[tuple[str, str]]:
        """The pages of pairs that are not well, by name; relative to the sweep's directory."""
        bad = [(joined(pair), one.result) for pair, one in self.by_pair.items() if not passes(one.verdict)]
        return [(name, f"{read.folder.relative_to(folder)}/index.html") for name, read in bad if read is not None]

    def as_json(self, folder: Path) -> list[dict[str, Any]]:
        """For ``sweep-report.json``; results are relative to the sweep's directory."""
        return [
            {"nodes": list(pair), "round": number, "verdict": one.verdict, "reason": one.reason, "job": one.job_id,
             "result": None if one.result is None else str(one.result.folder.relative_to(folder))}
            for number, found in enumerate(self.rounds, 1) for pair, one in found.items()
        ]  # fmt: skip


def measure(sweep: Sweep, slurm: Slurm, pace: Pace) -> None:
    """Measure the rounds, or what is left of them."""
    nodes = candidates(sweep, outcomes(sweep))
    shown: dict[Pair, str] = {}
    for name in pairing.ROUNDS:
        if (sweep.folder / name).exists():
            mine = begin_or_resume.resume(sweep.folder, name, slurm)
        else:
            chosen = pairing.next_round(nodes, shown)
            if not chosen:
                return
            mine = begin_or_resume.begin(_round(sweep, name, chosen))
        sweep.rounds.append(mine)
        print_line(f"MPI between nodes: {plural(len(mine.jobs), 'pair')} ({name})")
        job_loop.measure(mine, slurm, pace)
        shown |= {pair: one.verdict for pair, one in _by_pair(mine).items()}


def _round(sweep: Sweep, name: str, chosen: Sequence[Pair]) -> Sweep:
    now, level = time.time(), LEVELS[PAIR]
    return replace(
        sweep, folder=sweep.folder / name, part_of=sweep.name, level=PAIR, jobs=jobs_for(chosen), minutes=level.minutes,
        started=now, deadline=now + level.hours * 3600, rounds=[],
    )  # fmt: skip


def candidates(sweep: Sweep, found: Sequence[Outcome]) -> list[str]:
    """The nodes that are well by themselves, in the sweep's order: a node that is not is no partner."""
    well = {one.name for one in found if _well(one)}
    return [node for node in sweep.jobs if node in well]


def _well(one: Outcome) -> bool:
    """Whether all but MPI within the node is good: without OSU that is not judged, and another program measures between nodes."""
    if passes(one.verdict):
        return True
    read = one.result
    if read is None or read.interrupted or read.missing or one.verdict == "FAIL":
        return False
    return all(passes(check.verdict) or check.check in LEVELS[PAIR].checks for check in read.checks)


def read(sweep: Sweep, found: Sequence[Outcome]) -> PairRounds | None:
    """What the rounds found so far; None where there were none."""
    rounds = tuple(map(_by_pair, rounds_of(sweep)))
    shown = {pair: one.verdict for each in rounds for pair, one in each.items()}
    return (
        PairRounds(rounds, {node: pairing.judge(node, shown) for node in candidates(sweep, found)}) if rounds else None
    )


def rounds_of(sweep: Sweep) -> list[Sweep]:
    """The rounds that were begun: by this process, else as they lie there."""
    folders = [sweep.folder / name for name in pairing.ROUNDS]
    return sweep.rounds or [sweep_file.load(folder) for folder in folders if (folder / sweep_file.FILE).exists()]


def _by_pair(mine: Sweep) -> dict[Pair, Outcome]:
    found = {one.name: one for one in outcomes(mine)}
    return {Pair(*job.nodes): found[name] for name, job in mine.jobs.items() if len(job.nodes) == 2}


def with_pairs(found: Sequence[Outcome], pairs: PairRounds) -> list[Outcome]:
    """The nodes' outcomes with what the pairs say of them."""
    both = []
    for one in found:
        judged, reason = pairs.judged.get(one.name), one.reason
        if judged is not None:
            if judged.verdict != "PASS":
                mine = [each for pair, each in pairs.by_pair.items() if one.name in pair]
                why = next((each.reason for each in reversed(mine) if not passes(each.verdict)), None)
                reason = f"{judged.words}: {why}" if why else judged.words
            one = replace(one, verdict=worst([one.verdict, judged.verdict]), reason=reason, pairs=judged)
        both.append(one)
    return both
