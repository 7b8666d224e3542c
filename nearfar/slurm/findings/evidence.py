"""A FAIL against a node, with the run that found it, as it is judged and as the log of ``act`` keeps it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf

from nearfar.base import Finding

from .check_run import CheckRun


@dataclass(frozen=True)
class Intervention:
    """Something that was done about a node between ``at`` and ``until`` (of a resume it is only known that it lies between).
    It answers what was known before its end. ``person``: somebody else drained or resumed it, and knows."""

    at: float
    until: float
    person: bool
    words: str

    def before(self, run: CheckRun) -> bool:
        """Whether a run began after it. As a job of Slurm it can only have begun after a resume."""
        return run.began > (self.at if run.job else self.until)


@dataclass(frozen=True)
class Evidence:
    """A FAIL against a node, and the run of a check that it was ``found_by``.

    ``id``: of its line in the log of ``act``, which keeps hard evidence; empty where there is none. ``stands``: it may be acted
    on; ``why``: what confirms it, or what is missing. ``interventions``: what was done about the node after it was known;
    ``closed_by``: the full passing run that closes it after them. ``closed_at``: when it was closed, in seconds since 1970;
    infinite as long as it is open.
    """

    found_by: CheckRun
    finding: Finding
    id: str = ""
    stands: bool = False
    why: str = ""
    interventions: tuple[Intervention, ...] = ()
    closed_by: CheckRun | None = None
    closed_at: float = inf

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What makes it this one, wherever its result lies."""
        return (self.found_by.node, self.found_by.run, *self.signature)

    @property
    def signature(self) -> tuple[str, str, str]:
        """What it has in common with the same finding of another run on the node: check, what was found, code of hard evidence."""
        return self.found_by.check, self.finding.subject, self.finding.code if self.finding.hard else ""

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

    @property
    def answered_until(self) -> float:
        """Until when findings alike are answered as well: the end of the first intervention."""
        return min(each.until for each in self.interventions)


def general(what: str) -> str:
    """A metric's name without the numbers of the parts: ``near.n0_g1`` and ``near.n1_g3`` are both ``near.n_g``."""
    return re.sub(r"(?<![A-Za-z])([a-z])\d+", r"\1", what)
