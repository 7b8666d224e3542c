"""What is to be done about a node, and about all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nearfar.base import Finding
from nearfar.slurm.findings import Evidence, HardEvidence, SharedFault, reasons

DRAIN, COMMENT, UNCOMMENT, RESUME, NOTHING = "drain", "comment", "uncomment", "resume", "nothing"
#: What holds a drain, by the words of the site's file: a cap, the floor, the same metric on many nodes.
CAP, FLOOR, SAME_METRIC = "cap", "available", "same_metric"
HELD = (CAP, FLOOR, SAME_METRIC)


@dataclass(frozen=True)
class Decision:
    """One node's: the action, the ``reason`` (or comment) that it writes, and its ``cause``. ``evidence``: what it rests
    on. ``waits``: for a person, who finds in the cause what to do; ``drained``: by us, and it stays so until a run has passed;
    ``held``: what keeps it from being drained, one of ``HELD``; empty: nothing."""

    node: str
    action: str
    cause: Finding
    reason: str | None = None
    evidence: Evidence | None = None
    waits: bool = False
    drained: bool = False
    held: str = ""

    @property
    def why(self) -> str:
        """The cause in words, after what was found where nothing is done about it."""
        told = self.evidence is not None and self.action == NOTHING and not self.drained
        return f"{headline(self.evidence)}: {self.cause.reason}" if told and self.evidence else self.cause.reason


@dataclass(frozen=True)
class Decisions:
    """Of all nodes that were seen or drained. ``stop``: why nothing more may be drained, where this run found that out.
    ``hard``: the hard evidence of each node that has any. ``died``, ``up_again``: what is said once, by node."""

    nodes: tuple[Decision, ...]
    blamed: tuple[SharedFault, ...]
    stop: str | None
    hard: Mapping[str, HardEvidence] = field(default_factory=dict)
    died: Mapping[str, str] = field(default_factory=dict)
    up_again: Mapping[str, str] = field(default_factory=dict)

    @property
    def held(self) -> bool:
        """Whether a drain is held."""
        return any(decision.held for decision in self.nodes)


def headline(evidence: Evidence) -> str:
    """``FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a``."""
    return reason_of(evidence).headline


def reason_of(evidence: Evidence) -> reasons.DrainReason:
    """The reason that a FAIL becomes."""
    return reasons.reason(
        evidence.found_by.check,
        evidence.finding,
        evidence.found_by.run,
        reasons.part_of(evidence.found_by.parts, evidence.finding),
    )
