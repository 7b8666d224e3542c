"""Who is measured with whom between nodes, and who is to blame: pure.

A pair that is slow has two suspects. Each is measured again with a node that passed, and blamed only if it is slow with
that one too: never after one measurement, and never by a partner that is well with nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import good, passes
from nearfar.slurm.results import Pair

#: The rounds' directories in a sweep's: disjoint pairs, suspects again, and those that still lack a second partner.
ROUNDS = ("pairs-1", "pairs-2", "pairs-3")


@dataclass(frozen=True)
class NodeVerdict:
    """What the pairs say of a node."""

    verdict: str
    words: str


def first(nodes: Sequence[str]) -> list[Pair]:
    """Disjoint pairs of neighbours in the list; an odd one is left to the next round."""
    return [Pair(one, other) for one, other in zip(nodes[::2], nodes[1::2])]


def again(nodes: Sequence[str], rounds: Sequence[Mapping[Pair, str]]) -> list[Pair]:
    """The round after these (verdicts by pair): each node of which nothing is settled, with one that passed and that it was
    not with before, these in turn. Where no pair passed, suspects change partners: with another one may be well."""
    good = _members(pair for pair, verdict in _all(rounds) if passes(verdict))
    unsettled = [node for node in nodes if node not in good and not _settled(node, rounds, good)]
    tried = {frozenset(pair) for pair, _ in _all(rounds)}
    if not good:
        failed = any(verdict == "FAIL" for _, verdict in _all(rounds))
        return _with_others(unsettled, tried) if failed else []
    found = []
    for position, node in enumerate(unsettled):
        start = position % len(good)
        untried = (each for each in [*good[start:], *good[:start]] if frozenset((each, node)) not in tried)
        found += [Pair(partner, node) for partner in untried][:1]
    return found


def _with_others(nodes: Sequence[str], tried: Collection[frozenset[str]]) -> list[Pair]:
    """Disjoint pairs of nodes that were not together before, as many as come about in their order."""
    left, found = dict.fromkeys(nodes), []
    while left:
        node = next(iter(left))
        del left[node]
        partner = next((other for other in left if frozenset((node, other)) not in tried), None)
        if partner is not None:
            del left[partner]
            found.append(Pair(node, partner))
    return found


def slow_with(node: str, rounds: Sequence[Mapping[Pair, str]]) -> list[Pair]:
    """The failed pairs of a node that is to blame, in their order, last one with a partner that is well with other partners; none of
    any other node. Both are needed: a second partner, and one that is proven."""
    mine = _mine(node, rounds)
    proven = _members(pair for pair, verdict in _all(rounds) if good(verdict))
    failed = [pair for pair, verdict in mine if verdict == "FAIL"]
    compared = [pair for pair in failed if _partner(pair, node) in proven]
    if len(failed) < 2 or not compared or any(passes(verdict) for _, verdict in mine):
        return []
    return [*(pair for pair in failed if pair != compared[-1]), compared[-1]]


def _settled(node: str, rounds: Sequence[Mapping[Pair, str]], good: Sequence[str]) -> bool:
    """Whether one more measurement would say nothing new of a node that was well with nobody."""
    mine = _mine(node, rounds)
    failed = any(verdict == "FAIL" for _, verdict in mine)
    compared = any(_partner(pair, node) in good for pair, _ in mine)
    return bool(slow_with(node, rounds)) or (compared and not failed)


def judge(nodes: Sequence[str], rounds: Sequence[Mapping[Pair, str]]) -> dict[str, NodeVerdict]:
    """What to think of each node after all rounds (verdicts by pair)."""
    return {node: NodeVerdict(*_judge(node, rounds)) for node in nodes}


def _judge(node: str, rounds: Sequence[Mapping[Pair, str]]) -> tuple[str, str]:
    mine = [(_partner(pair, node), verdict) for pair, verdict in _mine(node, rounds)]
    well = [partner for partner, verdict in mine if passes(verdict)]
    ill = [partner for partner, verdict in mine if not passes(verdict)]
    if well and not any(good(verdict) for _, verdict in mine):
        words = "no figure of it was judged: nearfar tune makes references from healthy runs"
        return "INDETERMINATE", f"MPI between nodes works with {', '.join(well)}, and {words}"
    if well:
        # That it was slow with a suspect says nothing of a node that was well with another.
        besides = f", not with {', '.join(ill)}" if ill else ""
        return "PASS", f"MPI between nodes is well with {', '.join(well)}{besides}"
    proven = _members(pair for pair, verdict in _all(rounds) if good(verdict))
    failed = [partner for partner, verdict in mine if verdict == "FAIL"]
    if not mine:
        return "INDETERMINATE", "MPI between nodes was not measured: no second node that passed"
    if not proven or not set(ill) & set(proven):
        words = "is not well, and no node that passed was there to compare with: neither is blamed"
        return "INDETERMINATE", f"MPI with {', '.join(ill)} {words}"
    blamed = [_partner(pair, node) for pair in slow_with(node, rounds)]
    if blamed:
        slow = f"MPI between nodes is too slow or wrong with {' and '.join(blamed)}"
        return "FAIL", f"{slow}, and {blamed[-1]} is well with other partners"
    if failed:
        words = "no second node that passed was there to confirm it: neither is blamed"
        return "INDETERMINATE", f"MPI with {failed[-1]} is not well, and {words}"
    return "INDETERMINATE", f"MPI with {', '.join(ill)} could not be judged"


def together_alone(nodes: Mapping[str, NodeVerdict], rounds: Sequence[Mapping[Pair, str]]) -> list[Pair]:
    """Pairs that failed though both nodes are well with others: what lies between them (a cable, a switch) is meant."""
    return [
        pair for pair, verdict in _all(rounds)
        if verdict == "FAIL" and all(node in nodes and nodes[node].verdict == "PASS" for node in pair)
    ]  # fmt: skip


def _all(rounds: Sequence[Mapping[Pair, str]]) -> Iterator[tuple[Pair, str]]:
    return (each for verdicts in rounds for each in verdicts.items())


def _mine(node: str, rounds: Sequence[Mapping[Pair, str]]) -> list[tuple[Pair, str]]:
    return [(pair, verdict) for pair, verdict in _all(rounds) if node in pair]


def _partner(pair: Pair, node: str) -> str:
    return pair.other if node == pair.one else pair.one


def _members(pairs: Iterable[Pair]) -> list[str]:
    return list(dict.fromkeys(node for pair in pairs for node in pair))
