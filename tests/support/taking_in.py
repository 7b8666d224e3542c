"""What ``act`` would take in of a results directory and of health findings, into a ledger of the test's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from nearfar.site import Policy
from nearfar.slurm.findings import intake
from nearfar.slurm.ledger import CheckRun, Ledger, Past, runs_since


class Taken(NamedTuple):
    """All check runs that the ledger has then, and a line for each file that is not believed."""

    runs: list[CheckRun]
    refused: list[str]
    clocks: list[str]


def take_in(
    results: Path | None, health: Path | None, now: float, ledger: Ledger | None = None, cluster: str | None = None
) -> Taken:
    """Results count as this user's and root's, health findings as root's."""
    ledger = ledger or Ledger.in_memory()
    found = intake.take_in(ledger, Past(), Policy("vm", frozenset({0, os.geteuid()})), results, health, cluster, now)
    nodes = {row["node"] for row in ledger.rows("SELECT DISTINCT node FROM check_run")}
    runs = [run for these in runs_since(ledger, "vm", 0.0, nodes).values() for run in these]
    return Taken(sorted(runs, key=lambda run: (run.node, run.ended)), found.lines, sorted(found.clocks.values()))
