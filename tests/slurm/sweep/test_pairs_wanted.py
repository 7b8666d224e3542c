"""When MPI between nodes follows a sweep, and what is said where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base.verdicts import worst
from nearfar.slurm.results.result import CheckResult, NodeResult
from nearfar.slurm.sweep import pair_rounds
from nearfar.slurm.sweep.node_selection import reason_against_pairs
from nearfar.slurm.sweep.outcome import Outcome
from nearfar.slurm.sweep.sweep_file import SweepJob
from tests.support.sweeping import planned

SYSTEM = """\
system: mine
hosts: ["n[1-4]"]
partitions:
  - {name: gpu, features: [mpi, two_nodes], access: [-p all]}
  - {name: old, features: [mpi], access: [--partition=old]}
"""
NODES = ["n1", "n2"]


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/mine.yaml").write_text(SYSTEM)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    monkeypatch.delenv("NEARFAR_SYSTEM", raising=False)


@pytest.mark.parametrize(
    ("asked", "level", "nodes", "partition", "why"),
    [
        (None, "accept", NODES, "all", None),
        (None, "nightly", NODES, "all", ""),
        (False, "accept", NODES, "all", ""),
        (True, "quick", NODES, "old", None),
        (None, "accept", ["n1"], "all", "one node alone"),
        (True, "accept", ["n1"], "all", "one node alone"),
        (None, "accept", NODES, "old", "mine:old lacks the feature two_nodes in the site's file (docs/reference/system-file.md)"),
        (None, "accept", ["z1", "z2"], "all",
         "no system file names z1 under hosts; --mpi-pairs measures it all the same"),
    ],
)  # fmt: skip
def test_as_asked_or_as_the_level_and_the_partition_have_it(
    asked: bool | None, level: str, nodes: list[str], partition: str, why: str | None
) -> None:
    assert reason_against_pairs(asked, level, nodes, partition) == why


def test_a_partition_that_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said = reason_against_pairs(None, "accept", NODES, "batch")
    assert said is not None and "add access: [-p PARTITION]" in said
    monkeypatch.setenv("NEARFAR_SYSTEM", "mine")
    assert reason_against_pairs(None, "accept", ["z1", "z2"], "all") is None, "the system is named"


def outcome(node: str, missing: tuple[str, ...] = (), interrupted: bool = False, **checks: str) -> Outcome:
    folder, word = Path(node), worst(checks.values())
    results = tuple(CheckResult(name, verdict, (), folder, {}) for name, verdict in checks.items())
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
