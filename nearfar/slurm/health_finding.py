"""What the health check leaves behind, ``HEALTH/<node>.json``: written whole, and how it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import CouldNotJudge
from nearfar.slurm.result import Finding
from nearfar.slurm.trust import Trust

SCHEMA = "nearfar-health/1"


@dataclass(frozen=True)
class HealthFinding:
    """One look at a node. ``time`` is UTC, as 2026-11-20T09:00:00Z."""

    run: str
    node: str
    system: str | None
    time: str
    verdict: str
    findings: Sequence[Finding]


def read(path: Path, trust: Trust) -> HealthFinding:
    """The finding in a file. Raises ``CouldNotJudge`` with one line that says why it is not believed."""
    raw = trust.document(path, SCHEMA, "health-1")
    if f"{raw['node']}.json" != path.name:
        raise CouldNotJudge(f"{path}: of node {raw['node']}; not counted")
    findings = tuple(Finding(f["what"], f["verdict"], f["hard"], f["words"]) for f in raw["findings"])
    return HealthFinding(raw["run"], raw["node"], raw["system"], raw["time"], raw["verdict"], findings)
