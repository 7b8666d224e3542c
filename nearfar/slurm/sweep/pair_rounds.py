"""The second stage of a sweep: MPI between two nodes, on disjoint pairs, and each suspect again with a node that passed.

Each round is a sweep of its own in the sweep's directory (``pairs-1`` and so on), whose "nodes" are pairs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import passes, worst
from nearfar.mpi.osu import INSTALL
from nearfar.slurm.results import own

from . import pairing, plan, state_file, sweep_directory
from .job_loop import Pace
from .levels import LEVELS, PAIR, PING_PONG
from .outcome import NodeOutcome, outcomes
from .pairing import NodeVerdict, Pair
from .slurmctld import Controller
from .state_file import SweepJob, SweepState


@dataclass(frozen=True)
class Pairs:
    """What the rounds found: outcomes by pair, and what to think of each node."""

    rounds: tuple[dict[Pair, NodeOutcome], ...]
    judged: dict[str, NodeVerdict]

    @property
    def verdicts(self) -> list[dict[Pair, str]]:
        """The rounds' verdicts by pair."""
        return [{pair: one.verdict for pair, one in found.items()} for found in self.rounds]

    def last_reason(self, node: str) -> str | None:
        """What was wrong in the last pair of a node that was not well."""
        mine = [one for found in self.rounds for pair, one in found.items() if node in pair.nodes]
        return next((one.reason for one in reversed(mine) if not passes(one.verdict)), None)

    def notes(self) -> list[str]:
        """What concerns no single node: what lies between two of them, and that it was not OSU that measured."""
        read = [one.result for found in self.rounds for one in found.values() if one.result is not None]
        own_figures = any(check.check == PING_PONG for each in read for check in each.checks)
        alone = pairing.together_alone(self.judged, self.verdicts)
        return [
            *([f"MPI between nodes was measured by {PING_PONG}, because there is no OSU; {INSTALL}"] if own_figures else []),
            *(f"MPI between {pair.one} and {pair.other} alone is too slow or wrong, and both are well with others: look at "
              "what lies between them" for pair in alone),
        ]  # fmt: skip

    def pages(self, folder: Path) -> list[tuple[str, str]]:
        """The pages of pairs that are not well, by name; relative to the sweep's directory."""
        bad = [(pair, one.result) for found in self.rounds for pair, one in found.items() if not passes(one.verdict)]
        return [(pair.name, f"{read.folder.relative_to(folder)}/index.html") for pair, read in bad if read is not None]

    def as_json(self, folder: Path) -> list[dict[str, Any]]:
        """For ``sweep-report.json``; results are relative to the sweep's directory."""
        return [
            {"nodes": list(pair.nodes), "round": number, "verdict": one.verdict, "reason": one.reason, "job": one.job,
             "result": None if one.result is None else str(one.result.folder.relative_to(folder))}
            for number, found in enumerate(self.rounds, 1) for pair, one in found.items()
        ]  # fmt: skip


def candidates(sweep: SweepState, found: Sequence[NodeOutcome]) -> list[str]:
    """The nodes that are well by themselves, in the sweep's order: a node that is not is no partner."""
    well = {one.node for one in found if _well(one)}
    return [node for node in sweep.tasks if node in well]


def _well(one: NodeOutcome) -> bool:
    """Whether everything but MPI within the node is good: where there is no OSU, that cannot be judged, and another program
    measures between nodes."""
    if passes(one.verdict):
        return True
    read = one.result
    if read is None or read.interrupted or read.missing or one.verdict == "FAIL":
        return False
    return all(passes(check.verdict) or check.check in LEVELS[PAIR].checks for check in read.checks)


def carry_out(sweep: SweepState, controller: Controller, results: Path, pace: Pace) -> None:
    """Measure the rounds, or what is left of them."""
    nodes = candidates(sweep, outcomes(sweep, results, own(results)))
    done: list[dict[Pair, str]] = []
    for name in pairing.ROUNDS:
        chosen = pairing.again(nodes, done) if done else pairing.first(nodes)
        found = _round(sweep, controller, name, chosen, pace)
        if not found:
            return
        done.append({pair: one.verdict for pair, one in found.items()})


def read(sweep: SweepState, found: Sequence[NodeOutcome]) -> Pairs | None:
    """What the rounds found so far; None where there were none."""
    begun = journals(sweep)
    if not begun:
        return None
    rounds = [_outcomes(each) for each in begun]
    verdicts = [{pair: one.verdict for pair, one in each.items()} for each in rounds]
    return Pairs(tuple(rounds), pairing.judge(candidates(sweep, found), verdicts))


def journals(sweep: SweepState) -> list[SweepState]:
    """Of the rounds that were begun."""
    return [
        state_file.load(sweep.folder / name)
        for name in pairing.ROUNDS
        if (sweep.folder / name / state_file.FILE).exists()
    ]


def with_pairs(found: Sequence[NodeOutcome], pairs: Pairs) -> list[NodeOutcome]:
    """The nodes' outcomes with what the pairs say of them."""
    return [_with(one, pairs, pairs.judged.get(one.node)) for one in found]


def _with(one: NodeOutcome, pairs: Pairs, judged: NodeVerdict | None) -> NodeOutcome:
    if judged is None:
        return one
    verdict, reason = worst([one.verdict, judged.verdict]), one.reason
    if judged.verdict != "PASS":
        why = pairs.last_reason(one.node)
        reason = f"{judged.words}: {why}" if why else judged.words
    return replace(one, verdict=verdict, reason=reason, pairs=judged)


def _round(
    sweep: SweepState, controller: Controller, name: str, chosen: Sequence[Pair], pace: Pace
) -> dict[Pair, NodeOutcome]:
    now, pack = time.time(), LEVELS[PAIR]
    if (sweep.folder / name).exists():
        mine = sweep_directory.resume(sweep.folder, name, now)
    elif not chosen:
        return {}
    else:
        gres = {pair.name: sweep.plan.gres[pair.one] for pair in chosen if pair.one in sweep.plan.gres}
        planned = replace(
            sweep.plan, sweep=name, part_of=sweep.plan.sweep, pack=PAIR, nodes=tuple(pair.name for pair in chosen), gres=gres,
            minutes=pack.minutes, started=now, deadline=now + pack.hours * 3600,
        )  # fmt: skip
        mine = sweep_directory.begin(
            sweep.folder, planned, {pair.name: SweepJob(pair.name, pair=pair.nodes) for pair in chosen}
        )
    many = "s" if len(mine.tasks) > 1 else ""
    print(f"nearfar: MPI between nodes: {len(mine.tasks)} pair{many} ({name})", file=sys.stderr)
    plan.carry_out(mine, controller, sweep.folder, pace)
    return _outcomes(mine)


def _outcomes(mine: SweepState) -> dict[Pair, NodeOutcome]:
    results = mine.folder.parent
    found = {one.node: one for one in outcomes(mine, results, own(results))}
    return {Pair(*task.pair): found[name] for name, task in mine.tasks.items() if len(task.pair) == 2}
