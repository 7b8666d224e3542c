"""Hard evidence that nobody has seen to stays open, whenever it was found and by whose clock."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.slurm.act import Repaired, RetestOptions, repairs, retest
from nearfar.slurm.controller import reservations
from nearfar.slurm.findings import runs_of_sweep
from nearfar.slurm.ledger import CheckRun
from tests.support.fake_slurm import stamp
from tests.support.node_results import leave
from tests.support.played_fleet import PlayedFleet

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="health findings count as root's alone")


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    return PlayedFleet(tmp_path)


def retested(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch, node: str, meanwhile: Callable[[], object]
) -> Repaired:
    """A retest that passes, and what happens before it ends."""
    for name in ("make", "verify", "remove"):
        monkeypatch.setattr(reservations, name, lambda *_: None)

    def measure(*asked: object) -> Sequence[CheckRun]:
        leave(fleet.results, node, fleet.run(), at=time.time(), took=0.0, sweep="again")
        meanwhile()
        return runs_of_sweep(fleet.results, "again", fleet.policy, time.time())[0]

    monkeypatch.setattr(repairs, "_measure", measure)
    [result] = retest(RetestOptions(node, "accept", "all", None), fleet.options, fleet.slurm, print)
    return result


@root_only
@pytest.mark.parametrize("acts", [True, False], ids=["act reads it", "act does not run"])
def test_what_health_finds_during_a_retest_drains_again(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch, acts: bool
) -> None:
    fleet.wrong("n1")
    fleet.act()

    def meanwhile() -> None:
        fleet.health_check("n1", "g3")
        if acts:
            fleet.act()

    result = retested(fleet, monkeypatch, "n1", meanwhile)
    assert not result.in_use and "but meanwhile health found: g3 is missing" in result.words
    assert fleet.drained() == ["n1"]
    assert {each.finding.subject for each in fleet.view().facts.evidence["n1"]} == {"g2:n0", "g3"}


@root_only
def test_what_health_finds_after_a_retest_has_measured_stays_open(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file comes when the retest has ended, as of before that."""
    fleet.wrong("n1")
    fleet.act()
    assert retested(fleet, monkeypatch, "n1", lambda: None).in_use
    fleet.health_check("n1", "g3")
    with fleet.ledger() as ledger:
        ledger.write("UPDATE action SET at = at + 2 WHERE kind = 'release'")
    fleet.act()
    assert fleet.drained() == ["n1"]


def test_what_a_job_finds_after_a_node_was_resumed_stays_open(fleet: PlayedFleet) -> None:
    """Slurm tells when the node was busy last: that is when the job ended that found it."""
    fleet.wrong("n1", 3600)
    fleet.act()
    with fleet.ledger() as ledger:
        ledger.write("UPDATE action SET at = at - 3000, seen = at - 2000")
    fleet.slurm.resume("n1")
    fleet.wrong("n1", 60)
    node = fleet.node("n1")
    fleet.slurm.states["n1"] = replace(node, fields={**node.fields, "LastBusyTime": stamp(time.time() - 30)})
    for _ in range(2):
        fleet.act()
        assert fleet.drained() == ["n1"]


def test_a_node_whose_clock_is_behind_after_it_was_cleared(fleet: PlayedFleet) -> None:
    fleet.wrong("n1", 3600)
    fleet.act()
    fleet.clear("n1")
    os.utime(leave(fleet.results, "n1", fleet.run(), at=time.time() - 600, wrong="wrong data", took=0.0))
    fleet.act()
    assert fleet.drained() == ["n1"]


def test_what_was_cleared_though_the_file_server_s_clock_is_ahead(fleet: PlayedFleet) -> None:
    place = leave(fleet.results, "n1", fleet.run(), at=time.time() - 60, wrong="wrong data")
    os.utime(place, (time.time() + 30 * 86400.0,) * 2)
    fleet.act()
    assert fleet.drained() == ["n1"]
    fleet.clear("n1")
    fleet.act()
    assert fleet.drained() == []


def test_a_drained_node_that_slurm_does_not_have_for_a_while(fleet: PlayedFleet) -> None:
    """Taken out of slurm.conf and put in again, it has no drain, and nobody has resumed it."""
    fleet.wrong("n1")
    fleet.act()
    gone = fleet.slurm.states.pop("n1")
    fleet.act()
    fleet.slurm.states["n1"] = replace(gone, flags=frozenset(), reason=None, reason_by=None, reason_at=None)
    fleet.act()
    assert fleet.drained() == ["n1"] and [kind for kind, _, _ in fleet.did()] == ["drain", "lapsed", "drain"]


def test_a_word_given_while_the_clock_was_ahead_closes_nothing_later(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though act runs an hour after it for the first time."""
    fleet.wrong("n1", 600)
    fleet.act()
    now = time.time()
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda: now + 400 * 86400.0)
        fleet.clear("n1")
    leave(fleet.results, "n1", fleet.run(), at=now + 100, wrong="wrong data", took=0.0)
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    fleet.act()
    assert fleet.drained() == ["n1"]


@pytest.mark.parametrize(("others", "drained"), [(False, ["n1", "n2"]), (True, ["n3"])], ids=["all lost", "one kept"])
def test_a_slurmctld_that_has_lost_its_state_has_resumed_nothing(
    fleet: PlayedFleet, others: bool, drained: list[str]
) -> None:
    """Started with ``-c``, or without its StateSaveLocation. Where it still has a drain of anybody, an administrator has resumed ours."""
    for node in ("n1", "n2"):
        fleet.wrong(node)
    fleet.act()
    with fleet.ledger() as ledger:
        ledger.write("UPDATE action SET at = at - 3600, seen = at - 60")
    for node in ("n1", "n2"):
        fleet.slurm.states[node] = replace(fleet.node(node), flags=frozenset(), reason=None, reason_by=None)
    if others:
        fleet.slurm.drain("n3", "ticket 12")
    fleet.slurm.started = time.time
    for _ in range(2):
        fleet.act()
        assert fleet.drained() == drained


def test_a_cloud_machine_that_was_given_back_is_not_held_against_the_next(fleet: PlayedFleet) -> None:
    def flags(*names: str) -> None:
        for node in ("n1", "n2"):
            fleet.slurm.states[node] = replace(fleet.slurm.states[node], flags=frozenset({"CLOUD", *names}))

    flags()
    fleet.wrong("n1")
    fleet.slow_twice("n2")
    flags("POWERED_DOWN")
    fleet.act()
    fleet.act()
    assert [(kind, node) for kind, _, node in fleet.did()] == [("resumed", "n1"), ("resumed", "n2")]
    flags()
    fleet.act()
    assert fleet.drained() == []
    fleet.wrong("n1", ago=0.0, took=0.0)
    fleet.act()
    assert fleet.drained() == ["n1"]
    flags("DRAIN", "POWERED_DOWN")
    fleet.act()
    assert fleet.states()["n1"] == "drained"
