"""The pairs of a sweep: MPI between two nodes, on disjoint pairs, and each suspect again with a node that passed.

Their jobs are jobs of the sweep, after those of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nearfar.base import passes, plural, worst
from nearfar.mpi.osu import INSTALL
from nearfar.slurm.controller import Slurm
from nearfar.slurm.results import Pair

from . import job_loop, pairing
from .levels import LEVELS, PAIR
from .outcome import Outcome, outcomes
from .slurmctld import Pace, print_line
from .sweep_file import Sweep, jobs_for


def measure(sweep: Sweep, slurm: Slurm, pace: Pace) -> None:
    """Measure the pairs of a sweep, or what is left of them."""
    nodes = candidates(sweep, outcomes(sweep))
    for _ in range(pairing.ROUNDS):
        chosen = pairing.next_round(nodes, _shown(by_pair(sweep)))
        if not chosen:
            return
        sweep.jobs.update(jobs_for(chosen))
        print_line(f"MPI between nodes: {plural(len(chosen), 'pair')}")
        job_loop.measure(sweep, slurm, pace)


def by_pair(sweep: Sweep) -> dict[Pair, Outcome]:
    """The outcomes of the pairs that were begun."""
    return {Pair(*one.job.nodes): one for one in outcomes(sweep, pairs=True)}


def _shown(pairs: Mapping[Pair, Outcome]) -> dict[Pair, str]:
    return {pair: one.verdict for pair, one in pairs.items()}


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


def with_pairs(sweep: Sweep, found: Sequence[Outcome], pairs: Mapping[Pair, Outcome]) -> list[Outcome]:
    """The nodes' outcomes with what the pairs say of them."""
    nodes, both = candidates(sweep, found), []
    for one in found:
        if one.name in nodes:
            judged, reason = pairing.judge(one.name, _shown(pairs)), one.reason
            if judged.verdict != "PASS":
                mine = [each for pair, each in pairs.items() if one.name in pair]
                why = next((each.reason for each in reversed(mine) if not passes(each.verdict)), None)
                reason = f"{judged.words}: {why}" if why else judged.words
            one = replace(one, verdict=worst([one.verdict, judged.verdict]), reason=reason, pairs=judged.verdict)
        both.append(one)
    return both


def notes(found: Iterable[Outcome], pairs: Mapping[Pair, Outcome]) -> list[str]:
    """What concerns no single node: what lies between two of them, and that it was not OSU that measured."""
    judged = {one.name: one.pairs for one in found if one.pairs}
    checks = {check.check for one in pairs.values() if one.result is not None for check in one.result.checks}
    alone = [
        pair for pair, one in pairs.items()
        if one.verdict == "FAIL" and all(judged.get(node, "PASS") == "PASS" for node in pair)
    ]  # fmt: skip
    return [
        *(f"MPI between nodes was measured by {name}, because there is no OSU; {INSTALL}"
          for name in sorted(checks & set(LEVELS[PAIR].instead))),
        *(f"MPI between {pair.one} and {pair.other} alone is too slow or wrong, and both are well with other partners: check "
          "the cable and the switch between them" for pair in alone),
    ]  # fmt: skip
