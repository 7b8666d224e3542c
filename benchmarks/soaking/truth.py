"""What really happened to the nodes of a soak, kept apart from what nearfar believes."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.slurm.findings import CLOCKS

#: Slurm's times are whole seconds.
SECOND = 1.0


@dataclass(frozen=True)
class Finding:
    """Hard evidence that was published: ``at`` is when (seconds since 1970)."""

    node: str
    run: str
    check: str
    what: str
    at: float


@dataclass
class Truth:
    """``foreign``: the reason of each drain that others have set and not taken back; ``interventions``: by node, when somebody
    drained, resumed or rebooted it; ``words``: when somebody cleared or released it; ``void``: runs that
    nothing may be done for; ``away``: when slurmctld last was not there; ``off``: the nodes whose power is off; ``clocks``: when
    `act` went by a clock that was off, and by how many seconds: in which order things were that lie nearer cannot be known."""

    folder: Path
    findings: list[Finding] = field(default_factory=list)
    foreign: dict[str, str] = field(default_factory=dict)
    interventions: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    persons: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    words: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    passes: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    measured: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    void: set[str] = field(default_factory=set)
    away: float = 0.0
    off: set[str] = field(default_factory=set)
    clocks: list[tuple[float, float]] = field(default_factory=list)
    _read: int = 0

    @property
    def journal(self) -> Path:
        """Where jobs write down what they leave: a line of JSON each."""
        return self.folder / "jobs.jsonl"

    def read_jobs(self) -> None:
        """Take over what jobs have left since."""
        if not self.journal.exists():
            return
        lines = self.journal.read_text(encoding="utf-8").splitlines(keepends=True)
        for line in lines[self._read :]:
            if not line.endswith("\n"):
                break
            self._read += 1
            one = json.loads(line)
            if one["hard"]:
                self.findings.append(Finding(one["node"], one["run"], "host_device_check", "g2:n0", float(one["at"])))
            else:
                self.passes[one["node"]].append(float(one["started"]))
            if one["sweep"]:
                self.measured[one["sweep"], one["node"]] += 1

    def person(self, node: str, at: float) -> None:
        """Somebody drained or resumed a node."""
        self.persons[node].append(at)
        self.interventions[node].append(at)

    def may_be_closed(self, finding: Finding) -> bool:
        """Whether a repair and a full passing run after it came after a finding."""
        after = [at for at in self.interventions[finding.node] if at >= finding.at - SECOND]
        off = max((off for at, off in self.clocks if at >= finding.at and off <= CLOCKS), default=2 * SECOND)
        return any(began >= at - off for at in after for began in self.passes[finding.node])

    def cleared(self, finding: Finding) -> bool:
        """Whether somebody has said after a finding that its node was seen to."""
        return any(at >= finding.at - SECOND for at in self.words[finding.node])

    def answered(self, finding: Finding) -> bool:
        """Whether a person has been there since a finding."""
        return any(at >= finding.at - SECOND for at in self.persons[finding.node])
