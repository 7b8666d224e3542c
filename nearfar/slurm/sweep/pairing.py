"""Who is measured with whom between nodes, and who is to blame: pure.

A pair that is slow has two suspects. Each is measured again with a node that passed, and blamed only if it is slow with that one too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import good, passes
from nearfar.slurm.results import Pair

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
