"""Who is measured with whom between nodes, and who is to blame: pure.

A pair that is slow has two suspects. Each is measured again with a node that passed, and blamed only if it is slow with
that one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_GOOD = ("PASS", "DEGRADED")


@dataclass(frozen=True)
class Pair:
    """Two nodes."""

    one: str
    other: str

    @property
    def name(self) -> str:
        """As directories are called: ``n1+n2``."""
        return f"{self.one}+{self.other}"

    @property
    def nodes(self) -> tuple[str, str]:
        """Both."""
        return self.one, self.other


@dataclass(frozen=True)
class Judged:
    """What the pairs say of a node."""

    verdict: str
    words: str


def first(nodes: Sequence[str]) -> list[Pair]:
    """Disjoint pairs of neighbours in the list; an odd one is left to the second round."""
    return [Pair(one, other) for one, other in zip(nodes[::2], nodes[1::2])]


def again(nodes: Sequence[str], verdicts: Mapping[Pair, str]) -> list[Pair]:
    """Every node that was in no good pair, with one that was, each of these in turn; none where there is none."""
    good = _members(pair for pair, verdict in verdicts.items() if verdict in _GOOD)
    suspects = [node for node in nodes if node not in good]
    return [Pair(good[position % len(good)], node) for position, node in enumerate(suspects)] if good else []


def judge(nodes: Sequence[str], rounds: Sequence[Mapping[Pair, str]]) -> dict[str, Judged]:
    """What to think of each node after both rounds (verdicts by pair)."""
    return {node: _judge(node, rounds) for node in nodes}


def _judge(node: str, rounds: Sequence[Mapping[Pair, str]]) -> Judged:
    mine = [
        (_partner(pair, node), verdict)
        for verdicts in rounds
        for pair, verdict in verdicts.items()
        if node in pair.nodes
    ]
    well = [partner for partner, verdict in mine if verdict in _GOOD]
    ill = [partner for partner, verdict in mine if verdict not in _GOOD]
    if well:
        # That it was slow with a suspect says nothing of a node that was well with another.
        return Judged(
            "PASS",
            f"MPI between nodes is well with {', '.join(well)}" + (f", not with {', '.join(ill)}" if ill else ""),
        )
    proven = _members(pair for verdicts in rounds for pair, verdict in verdicts.items() if verdict in _GOOD)
    compared = [(partner, verdict) for partner, verdict in mine if partner in proven]
    if not mine:
        return Judged("INDETERMINATE", "MPI between nodes was not measured: no second node that passed")
    if not compared:
        words = "is not well, and no node that passed was there to compare with: neither is blamed"
        return Judged("INDETERMINATE", f"MPI with {', '.join(ill)} {words}")
    partner, verdict = compared[-1]
    if verdict == "FAIL":
        return Judged(
            "FAIL",
            f"MPI between nodes is too slow or wrong with {' and '.join(ill)}, and {partner} is well with others",
        )
    return Judged("INDETERMINATE", f"MPI with {', '.join(ill)} could not be judged")


def together_alone(nodes: Mapping[str, Judged], rounds: Sequence[Mapping[Pair, str]]) -> list[Pair]:
    """Pairs that failed though both nodes are well with others: what lies between them (a cable, a switch) is meant."""
    return [
        pair for verdicts in rounds for pair, verdict in verdicts.items()
        if verdict == "FAIL" and all(node in nodes and nodes[node].verdict == "PASS" for node in pair.nodes)
    ]  # fmt: skip


def _partner(pair: Pair, node: str) -> str:
    return pair.other if node == pair.one else pair.one


def _members(pairs: Iterable[Pair]) -> list[str]:
    return list(dict.fromkeys(node for pair in pairs for node in pair.nodes))
