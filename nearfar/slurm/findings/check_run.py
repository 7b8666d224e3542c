"""What the decisions rest on: one check of one run on one node, believed; and what was done before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from nearfar.base import good
from nearfar.slurm.results import ResultFinding

#: What stands for cases that should have run and did not.
RUN = "run"


@dataclass(frozen=True)
class CheckRun:
    """One check of one run. Times are seconds since 1970, by the node's clock; ``came``: when its file came to be there, by
    the file system's (None: not known). ``failures`` are its FAILs, ``passed`` the names of the figures that were judged and
    inside their bounds, ``cells`` all cells that were measured. ``parts`` are those that the diagnosis blames; ``level`` is what
    the run was to measure, ``job`` whether as a job of Slurm, ``source`` for the log.

    ``confirmed``: by what, where a run holds its own confirmation (its FAILs were found twice); ``words``: what it says of the
    node, where that is more than its verdict."""

    node: str
    check: str
    run: str
    started: float
    ended: float
    verdict: str
    failures: tuple[ResultFinding, ...] = ()
    passed: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    source: str = ""
    confirmed: str = ""
    words: str = ""
    came: float | None = None
    cells: frozenset[str] = frozenset()
    level: str = ""
    job: bool = False

    @property
    def known(self) -> float:
        """When what it found was known: when its file came, however the node's clock was set."""
        return self.ended if self.came is None else self.came

    @property
    def began(self) -> float:
        """When it began; of a node whose clock was ahead, as much earlier as its end was later than its file."""
        return self.started - max(0.0, self.ended - self.known)

    def clears(self, what: str | None) -> bool:
        """Whether it passed, and with it the figure ``what`` (None: what was found is no figure, or is not known)."""
        return good(self.verdict) and (what is None or what in self.passed)


@dataclass(frozen=True)
class OurDrain:
    """A drain of ours: when, for what (``what`` None: no figure), and whether that was hard evidence (None: the log knows it
    only by a person's word)."""

    at: float
    reason: str
    check: str
    what: str | None
    hard: bool | None


@dataclass(frozen=True)
class RecordedEvidence:
    """Hard evidence against a node as the log keeps it: a FAIL and the check of a run that found it. ``id`` is its line's;
    empty for what is not written down yet."""

    id: str
    found: CheckRun
    finding: ResultFinding

    @property
    def key(self) -> tuple[str, str, str, str, str | None]:
        """What makes it this one, wherever its result lies."""
        return (self.found.node, self.found.run, self.found.check, self.finding.what, self.finding.code)

    @property
    def kind(self) -> tuple[str, str, str | None]:
        """What it has in common with the same finding of another run on the node."""
        return self.found.check, self.finding.what, self.finding.code


@dataclass(frozen=True)
class LogSummary:
    """What the log says. ``since``: FAILs of speed of a node from before then have been acted on or were voided by a person.

    ``drained``: drains of ours that are known to have been done and not taken back by us; ``begun``: those begun last, of which
    the end is not known. ``drains``: (node, time) of the drains that count against the caps; ``cleared``: when a person said
    that the node was seen to, where that was after its drain. ``quarantines``: retests that did not end, by reservation, with
    what each node is to be drained with again.

    ``evidence``: hard evidence that is open, by node; ``closed``: the keys of what is not; ``answered``: what was known until
    then is closed too, by ``(node,)`` for all of a node, and by ``(node, check, what, code)``. ``others``: when somebody else
    drained a node last; ``resumed``: when one that was drained by us was first seen in use. ``was``: evidence that is closed;
    ``seen``: when one that was drained by us was seen so by a later call, so that slurmctld has kept it.
    """

    since: Mapping[str, float] = field(default_factory=dict)
    drained: Mapping[str, OurDrain] = field(default_factory=dict)
    drains: tuple[tuple[str, float], ...] = ()
    cleared: Mapping[str, float] = field(default_factory=dict)
    latched: str | None = None
    quarantines: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    begun: Mapping[str, OurDrain] = field(default_factory=dict)
    evidence: Mapping[str, tuple[RecordedEvidence, ...]] = field(default_factory=dict)
    closed: frozenset[tuple[str, str, str, str, str | None]] = frozenset()
    answered: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    resumed: Mapping[str, float] = field(default_factory=dict)
    was: Mapping[str, tuple[RecordedEvidence, ...]] = field(default_factory=dict)
    seen: Mapping[str, float] = field(default_factory=dict)

    def retested(self, node: str) -> bool:
        """Whether a retest of a node has not ended: who resumed it was this program."""
        return any(node in nodes for nodes in self.quarantines.values())


def shown(at: float) -> str:
    """Seconds since 1970 for a person: ``2026-11-20 09:00:00 UTC``."""
    return f"{datetime.fromtimestamp(int(at), timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def seconds(time: str) -> float:
    """``2026-11-20T09:00:00Z`` in seconds since 1970."""
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
