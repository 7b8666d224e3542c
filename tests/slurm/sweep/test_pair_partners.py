"""Which nodes are partners for MPI between nodes."""

from __future__ import annotations

from pathlib import Path

from nearfar.base.verdicts import worst
from nearfar.slurm.ledger import CheckRun
from nearfar.slurm.results.result import NodeResult
from nearfar.slurm.sweep import pair_rounds
from nearfar.slurm.sweep.outcome import Outcome
from nearfar.slurm.sweep.sweep_file import SweepJob
from tests.support.sweeping import planned


def outcome(node: str, missing: tuple[str, ...] = (), interrupted: bool = False, **checks: str) -> Outcome:
    folder, word = Path(node), worst(checks.values())
    results = tuple(CheckRun(node, name, "r", 0.0, 0.0, verdict) for name, verdict in checks.items())
    read = NodeResult(
        folder=folder, run="r", sweep="s", nodes=(node,), hostname=node, system="mine", level="accept", started="", ended="", slurm=None,
        verdict=word, reason=None, checks=results, missing=missing, interrupted=interrupted, blamed=(),
    )  # fmt: skip
    return Outcome(SweepJob((node,)), "INDETERMINATE" if missing or interrupted else word, None, read)


def test_partners_are_well_but_for_osu_that_is_not_there() -> None:
    found = [
        outcome("n1", peer_check="PASS", osu_check="PASS"),
        outcome("n2", peer_check="DEGRADED", osu_check="INDETERMINATE"),
        outcome("n3", peer_check="INDETERMINATE", osu_check="INDETERMINATE"),
        outcome("n4", peer_check="PASS", osu_check="FAIL"),
        outcome("n5", missing=("peer_check: it did not run",), osu_check="INDETERMINATE"),
        outcome("n6", interrupted=True, osu_check="INDETERMINATE"),
        Outcome(SweepJob(("n7",)), "INDETERMINATE", "down"),
    ]
    sweep = planned(Path("s"), [one.job for one in found])
    assert pair_rounds.candidates(sweep, found) == ["n1", "n2"]
