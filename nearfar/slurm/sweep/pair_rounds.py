"""The pairs of a sweep: MPI between two nodes, on disjoint pairs, and each suspect again with a node that passed.

Their jobs are jobs of the sweep, after those of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import good, passes, plural, worst
from nearfar.mpi.osu import INSTALL
from nearfar.slurm.controller import Slurm
from nearfar.slurm.results import Pair

from . import job_loop
from .outcome import Outcome, outcomes
from .slurm_jobs import Pace, print_line
from .sweep_file import LEVELS, PAIR, Sweep, jobs_for

#: Disjoint pairs, suspects again, and those that still lack a second partner.
ROUNDS = 3


@dataclass(frozen=True)
class NodeVerdict:
    """What the pairs say of a node."""

    verdict: str
    words: str


def next_round(nodes: Sequence[str], shown: Mapping[Pair, str]) -> list[Pair]:
    """The pairs to measure after those of ``shown`` (their verdicts). First neighbours of the list; then each node of which nothing is
    settled, with one that passed and that it was not with before, these in turn. Where no pair passed, suspects change partners."""
    if not shown:
        return [Pair(one, other) for one, other in zip(nodes[::2], nodes[1::2])]
    well = list(dict.fromkeys(node for pair, verdict in shown.items() if passes(verdict) for node in pair))
    if not well and "FAIL" not in shown.values():
        return []
    unsettled = [node for node in nodes if node not in well and not _settled(node, shown, well)]
    found, busy = list[Pair](), set[str]()
    for position, node in enumerate(unsettled):
        start = position % len(well) if well else 0
        partners = [*well[start:], *well[:start]] or [each for each in unsettled if each != node]
        tried = {*_by_partner(node, shown), *(busy if not well else ())}
        partner = None if node in busy else next((each for each in partners if each not in tried), None)
        if partner is not None:
            found.append(Pair(partner, node))
            busy |= set() if well else {node, partner}
    return found


def _settled(node: str, shown: Mapping[Pair, str], well: Sequence[str]) -> bool:
    """Whether one more measurement would say nothing new of a node that was well with nobody."""
    mine = _by_partner(node, shown)
    return judge(node, shown).verdict == "FAIL" or ("FAIL" not in mine.values() and not mine.keys().isdisjoint(well))


def judge(node: str, shown: Mapping[Pair, str]) -> NodeVerdict:
    """What to think of a node after all rounds. To blame it takes a second partner, and one that is well with others."""
    mine = _by_partner(node, shown)
    well = [partner for partner, verdict in mine.items() if passes(verdict)]
    ill = ", ".join(partner for partner in mine if partner not in well)
    if well and not any(map(good, mine.values())):
        words = "no figure of it was judged: nearfar tune makes references from healthy runs"
        return NodeVerdict("INDETERMINATE", f"MPI between nodes works with {', '.join(well)}, and {words}")
    if well:
        # That it was slow with a suspect says nothing of a node that was well with another.
        besides = f", not with {ill}" if ill else ""
        return NodeVerdict("PASS", f"MPI between nodes is well with {', '.join(well)}{besides}")
    if not mine:
        return NodeVerdict("INDETERMINATE", "MPI between nodes was not measured: no second node that passed")
    proven = {partner for pair, verdict in shown.items() if good(verdict) for partner in pair}
    failed = sorted((partner for partner, verdict in mine.items() if verdict == "FAIL"), key=proven.__contains__)
    if len(failed) > 1 and failed[-1] in proven:
        words = f"MPI between nodes is too slow or wrong with {' and '.join(failed)}"
        return NodeVerdict("FAIL", f"{words}, and {failed[-1]} is well with other partners")
    words = "is not well, and no second node that passed was there to confirm it: neither is blamed"
    return NodeVerdict("INDETERMINATE", f"MPI with {ill} {words}")


def _by_partner(node: str, shown: Mapping[Pair, str]) -> dict[str, str]:
    return {pair.other if node == pair.one else pair.one: verdict for pair, verdict in shown.items() if node in pair}


def measure(sweep: Sweep, slurm: Slurm, pace: Pace) -> None:
    """Measure the pairs of a sweep, or what is left of them."""
    nodes = candidates(sweep, outcomes(sweep))
    for _ in range(ROUNDS):
        chosen = next_round(nodes, _shown(by_pair(sweep)))
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
    nodes, shown, both = candidates(sweep, found), _shown(pairs), []
    for one in found:
        if one.name in nodes:
            judged, reason = judge(one.name, shown), one.reason
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
