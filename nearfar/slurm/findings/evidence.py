"""A FAIL against a node, with the run that found it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.slurm.results import ResultFinding

from .check_run import CheckRun


@dataclass(frozen=True)
class FailOfRun:
    """A FAIL and the run that it is of. ``stands``: it may be acted on; else ``why`` says what is missing."""

    found: CheckRun
    finding: ResultFinding
    stands: bool
    why: str

    @property
    def kind(self) -> tuple[str, str, bool]:
        """What it has in common with other nodes' evidence: check, metric without the parts' numbers, whether it is hard."""
        return self.found.check, general(self.finding.what), self.finding.hard

    @property
    def severity(self) -> tuple[bool, float, str, str]:
        """Worst first: hard evidence, then by how far the figure is from its limit."""
        finding = self.finding
        gap = 0.0
        if finding.value is not None and finding.limit:
            ratio = abs(finding.value / finding.limit)
            gap = ratio if ratio < 1 else 1 / ratio
        return not finding.hard, gap, self.found.check, finding.what


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


def general(what: str) -> str:
    """A metric's name without the numbers of the parts: ``near.n0_g1`` and ``near.n1_g3`` are both ``near.n_g``."""
    return re.sub(r"(?<![A-Za-z])([a-z])\d+", r"\1", what)
