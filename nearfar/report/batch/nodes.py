"""What the page knows of its nodes, and what several of them have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nearfar.base import VERDICTS, grouped, worst
from nearfar.question import check_rank

from .distributions import Distributions


@dataclass(frozen=True)
class BatchNode:
    """One node. ``href`` leads to its own page; ``checks`` are its checks' verdicts; ``findings`` are (check, what) of
    all that is as bad as the node; ``aside`` says what else is to know: its job, the part that is blamed."""

    name: str
    verdict: str
    reason: str | None
    href: str | None = None
    checks: dict[str, str] = field(default_factory=dict)
    findings: tuple[tuple[str, str], ...] = ()
    aside: str = ""


@dataclass(frozen=True)
class Batch:
    """``nodes`` are worst first; ``about`` are facts, one line each; ``links`` are (words, address). ``fleet`` is what is
    DEGRADED of all nodes together, and of none of them. ``settings`` are those that cost, of each node that was described."""

    title: str
    where: str
    started: str
    nodes: Sequence[BatchNode]
    distributions: Distributions
    about: Sequence[str] = ()
    command: str = ""
    notes: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    fleet: Sequence[str] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many nodes have each verdict, worst first."""
        return {word: count for word in VERDICTS if (count := sum(node.verdict == word for node in self.nodes))}

    @property
    def verdict(self) -> str:
        """The worst of the nodes' and the fleet's; INDETERMINATE for no node."""
        return worst([next(iter(self.counts), "INDETERMINATE"), *("DEGRADED" for _ in self.fleet)])

    @cached_property
    def check_names(self) -> list[str]:
        """Every check that any node has."""
        return sorted({check for node in self.nodes for check in node.checks}, key=check_rank)


def shared(nodes: Sequence[BatchNode]) -> list[tuple[tuple[str, str, str], list[str]]]:
    """(Verdict, check, what) that several nodes have in common and their names, most nodes first: it speaks of a reference, a driver or a
    delivery more than of a node."""
    bad = [node for node in nodes if node.verdict != "PASS"]
    groups = grouped(((node.verdict, *what), node.name) for node in bad for what in dict.fromkeys(node.findings))
    found = [each for each in groups.items() if len(each[1]) > 1]
    return sorted(found, key=lambda each: (VERDICTS.index(each[0][0]), -len(each[1]), *each[0][1:]))
