"""A FAIL against a node, with the run that found it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf

from nearfar.base import Finding

from .check_run import CheckRun


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
