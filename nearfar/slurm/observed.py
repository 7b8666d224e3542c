"""What the decisions rest on: one check of one run on one node, believed; and what was done before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from nearfar.slurm.result import Finding
from nearfar.verdict import passes

#: What stands for cases that should have run and did not.
RUN = "run"


@dataclass(frozen=True)
class CheckRun:
    """One check of one run. Times are seconds since 1970. ``failures`` are its FAILs, ``passed`` the names of the figures
    that were judged and inside their bounds. ``parts`` are those that the diagnosis blames; ``source`` is for the log.

    ``confirmed``: by what, where a run holds its own confirmation (its FAILs were found twice); ``words``: what it says of the
    node, where that is more than its verdict."""

    node: str
    check: str
    run: str
    started: float
    ended: float
    verdict: str
    failures: tuple[Finding, ...] = ()
    passed: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    source: str = ""
    confirmed: str = ""
    words: str = ""

    def clears(self, what: str | None) -> bool:
        """Whether it passed, and with it the figure ``what`` (None: what was found is no figure, or is not known)."""
        return passes(self.verdict) and (what is None or what in self.passed)


@dataclass(frozen=True)
class Drained:
    """A drain of ours: when, for what (``what`` None: no figure), and whether that was hard evidence (None: the log knows it
    only by a person's word)."""

    at: float
    reason: str
    check: str
    what: str | None
    hard: bool | None


@dataclass(frozen=True)
class Past:
    """What the log says. ``since``: evidence of a node from before then has been acted on or was voided by a person.

    ``drains``: (node, time) of the drains that count against the caps; ``cleared``: when a person said that the node was
    seen to. ``quarantines``: retests that did not end, by reservation, with what each node is to be drained with again.
    """

    since: Mapping[str, float] = field(default_factory=dict)
    drained: Mapping[str, Drained] = field(default_factory=dict)
    drains: tuple[tuple[str, float], ...] = ()
    cleared: Mapping[str, float] = field(default_factory=dict)
    latched: str | None = None
    quarantines: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)


def seconds(time: str) -> float:
    """``2026-11-20T09:00:00Z`` in seconds since 1970."""
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
