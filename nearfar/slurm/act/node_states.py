"""The states of a node, and what each is called; docs/reference/states.md has how a node comes from one to another.

The state follows from what the ledger and Slurm say at the moment; ``judge_nodes.judge`` computes it, and nothing keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nearfar.base import Finding
from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import our_reason, reasons
from nearfar.slurm.findings import SharedFault
from nearfar.slurm.ledger import Evidence

HELD, DRAINED, RETEST, TO_DRAIN, SUSPECT = "held", "drained", "retest", "to_drain", "suspect"
OTHERS, UNCLEAR, UNJUDGED, CLEARED = "others", "unclear", "unjudged", "cleared"
NOT_MEASURED, GOOD = "not_measured", "good"
#: The states in the order in which they are shown: what an administrator has to do first.
STATES = {
    HELD: "faulty but in use: you decide",
    DRAINED: "drained by nearfar: repair, then retest or clear",
    RETEST: "in retest",
    TO_DRAIN: "drained by the next act",
    SUSPECT: "suspect",
    OTHERS: "out of use, not by nearfar",
    UNCLEAR: "left alone: Slurm's state of it is not clear",
    UNJUDGED: "could not be judged",
    CLEARED: "back in use, not measured since",
    NOT_MEASURED: "not measured recently",
    GOOD: "good",
}
#: Those that wait for an administrator.
WAITING = (HELD, DRAINED)

DRAIN, NOTHING = "drain", "nothing"
#: What holds a drain, by the words of the site's file.
BY_CAP, BY_FLOOR, BY_SAME_METRIC, BY_STEP = "cap", "available", "same_metric", "step"
HELD_BY = (BY_CAP, BY_FLOOR, BY_SAME_METRIC, BY_STEP)


@dataclass(frozen=True)
class NodeStatus:
    """A node's state, and what follows from it."""

    node: str
    state: str
    #: Why, and what to do next.
    cause: Finding
    #: What is found on it, the worst; None: nothing that counts.
    evidence: Evidence | None = None
    #: What ``act`` does, and the reason that it writes.
    action: str = NOTHING
    reason: str | None = None
    #: What keeps it from being drained, one of ``HELD_BY``; empty: nothing.
    held: str = ""
    slurm: NodeState | None = None
    #: When it was taken out of use, and when it was measured last, in seconds since 1970; None: not known, or never.
    since: float | None = None
    measured: float | None = None

    def to(self, state: str, cause: Finding, **more: Any) -> NodeStatus:
        """The node in another state, and why."""
        return replace(self, state=state, cause=cause, **more)

    @property
    def drained_for(self) -> reasons.DrainReason | None:
        """What nearfar drained it for, by the reason that it carries; None: it is not drained by nearfar."""
        if self.slurm is None or self.state not in (DRAINED, RETEST):
            return None
        return our_reason(self.slurm)

    @property
    def headline(self) -> str:
        """``FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a``; for a drained node what it was drained for; empty: nothing."""
        if self.drained_for is not None:
            return self.drained_for.headline
        return "" if self.evidence is None else reason_of(self.evidence).headline


@dataclass(frozen=True)
class Fleet:
    """Every node of a system, by name, and what is found on many of them at once."""

    nodes: Mapping[str, NodeStatus] = field(default_factory=dict)
    shared: tuple[SharedFault, ...] = ()

    def of_state(self, *states: str) -> list[NodeStatus]:
        """The nodes in some states."""
        return [node for node in self.nodes.values() if node.state in states]

    @property
    def in_doubt(self) -> list[NodeStatus]:
        """The faulty nodes that Slurm does not know, or whose state is not clear, and those whose state has a word that is not known."""
        return [
            node
            for node in self.of_state(UNCLEAR)
            if node.evidence is not None or not (node.slurm is None or node.slurm.known_words)
        ]


def reason_of(evidence: Evidence) -> reasons.DrainReason:
    """The reason that a FAIL becomes."""
    found = evidence.found_by
    return reasons.reason(found.check, evidence.finding, found.run, reasons.part_of(found.parts, evidence.finding))
