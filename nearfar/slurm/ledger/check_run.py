"""One check of one run on one node, as it was taken in, and the FAILs that it holds against the node."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf

from nearfar.base import Finding, good, utc_time

#: The check that stands for cases that should have run and did not.
RUN = "run"


@dataclass(frozen=True)
class CheckRun:
    """One check of one run. Times are seconds since 1970."""

    node: str
    check: str
    run: str
    #: By the node's clock.
    started: float
    ended: float
    verdict: str
    #: Its FAILs.
    failures: tuple[Finding, ...] = ()
    #: Names of the figures that were judged and are inside their bounds.
    passed: frozenset[str] = frozenset()
    #: Parts that the diagnosis blames.
    parts: tuple[str, ...] = ()
    #: Where the result lies.
    source: str = ""
    #: By what its FAILs are confirmed, where the run itself found them twice.
    confirmed: str = ""
    #: Why it is neither PASS nor FAIL.
    words: str = ""
    #: When its file came to be there, by the file system's clock; None: not known.
    came: float | None = None
    #: The cells that were measured. Not kept in the ledger.
    cells: frozenset[str] = frozenset()
    level: str = ""
    #: Whether it ran as a job of Slurm.
    job: bool = False
    #: Of ``passed``, the figures that were beyond their bound in some measurements alone.
    intermittent: frozenset[str] = frozenset()
    system: str = ""
    sweep: str = ""

    @property
    def known(self) -> float:
        """When what it found was known: when its file came, however the node's clock is set."""
        return self.ended if self.came is None else self.came

    @property
    def began(self) -> float:
        """When it began, by the file system's clock: as long before its file came as it took, however the node's clock is set."""
        return self.known - (self.ended - self.started)

    def clears(self, figure: str | None) -> bool:
        """Whether it passed, and with it a figure (None: what was found is no figure, or is not known)."""
        return good(self.verdict) and (figure is None or figure in self.passed)


def seconds(time: str) -> float:
    """``2026-11-20T09:00:00Z`` in seconds since 1970."""
    return utc_time(time).timestamp()


@dataclass(frozen=True)
class Evidence:
    """A FAIL against a node."""

    found_by: CheckRun
    finding: Finding
    #: Its number in the ledger, which keeps hard evidence; None: it has none.
    id: int | None = None
    #: Whether it may be acted on, and what confirms it, or what is missing.
    stands: bool = False
    why: str = ""
    #: When it was closed, in seconds since 1970; infinite as long as it is open.
    closed_at: float = inf

    @property
    def metric(self) -> tuple[str, str, bool]:
        """What it has in common with other nodes' evidence: check, metric without the parts' numbers, whether it is hard."""
        return self.found_by.check, general(self.finding.subject), self.finding.hard

    @property
    def severity(self) -> tuple[bool, float, str, str]:
        """Worst first: hard evidence, then by how far the figure is from its limit."""
        finding, gap = self.finding, 0.0
        value, limit = finding.fields.get("value"), finding.fields.get("limit")
        if value is not None and limit:
            ratio = abs(value / limit)
            gap = ratio if ratio < 1 else 1 / ratio
        return not finding.hard, gap, self.found_by.check, finding.subject


def general(what: str) -> str:
    """A metric's name without the numbers of the parts: ``near.n0_g1`` and ``near.n1_g3`` are both ``near.n_g``."""
    return re.sub(r"(?<![A-Za-z])([a-z])\d+", r"\1", what)
