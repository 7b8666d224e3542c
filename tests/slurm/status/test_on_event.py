"""The site's program is told of findings, drains and releases: each at least once, whatever it does."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import validator
from nearfar.slurm.act import admin_host
from nearfar.slurm.status import act_and_tell, on_event
from tests.support.played_fleet import PlayedFleet


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    made = PlayedFleet(tmp_path)
    made.change(on_event=program(made, 'cat >> "$0.told"'))
    return made


def program(fleet: PlayedFleet, script: str, mode: int = 0o755) -> str:
    path = fleet.folder / "on-event"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(mode)
    return str(path)


def told(fleet: PlayedFleet) -> list[dict[str, Any]]:
    path = fleet.folder / "on-event.told"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    assert [error.message for each in found for error in validator("hook-1").iter_errors(each)] == []
    return found


def act(fleet: PlayedFleet, metrics: Path | None = None) -> list[str]:
    return act_and_tell(fleet.options, fleet.slurm, metrics)[1]


def test_a_finding_a_drain_and_a_release_are_told_once(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    fleet.slow_twice("n2")
    assert act(fleet) == []
    assert sorted((each["event"], each["node"]) for each in told(fleet)) == [
        ("drain", "n1"),
        ("drain", "n2"),
        ("finding", "n1"),
    ]
    fleet.clear("n1")
    fleet.slurm.resume("n2")
    act(fleet)
    released = [(each["node"], each["by_act"]) for each in told(fleet) if each["event"] == "release"]
    assert released == [("n1", True), ("n2", False)]
    act(fleet)
    assert len(told(fleet)) == 5


def test_a_program_that_fails_is_told_again_with_the_same_id(fleet: PlayedFleet) -> None:
    fleet.change(on_event=program(fleet, "echo no >&2; exit 3"))
    fleet.wrong("n1")
    [problem] = act(fleet)
    assert problem.endswith("exit code 3: no; sent again by the next act") and fleet.drained() == ["n1"]
    program(fleet, 'cat >> "$0.told"')
    act(fleet)
    assert [(each["event"], each["attempt"]) for each in told(fleet)] == [("finding", 2), ("drain", 1)]


def test_what_is_given_up_after_a_day(fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.change(on_event=program(fleet, "exit 1"))
    fleet.wrong("n1")
    for ago in (0, 3600, 90000, 90001, 90002, 90003, 90004, 90005):
        later = fleet.now + ago
        monkeypatch.setattr(time, "time", lambda later=later: later)
        problems = act(fleet)
    assert problems == [], "all were given up"


def test_a_program_that_hangs_is_ended_with_its_children(fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.slurm.status.on_event.LIMIT", 0.3)
    fleet.change(on_event=program(fleet, 'sleep 60 & echo $! > "$0.pid"; wait'))
    fleet.wrong("n1")
    [problem] = act(fleet)
    assert "it did not end within 0 s" in problem
    child = int((fleet.folder / "on-event.pid").read_text())
    time.sleep(0.2)
    status = Path(f"/proc/{child}/stat")
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(("mode", "words"), [(0o777, "other users can write to it"), (0o644, "not executable")])
def test_a_program_that_others_can_change_is_not_called(fleet: PlayedFleet, mode: int, words: str) -> None:
    fleet.change(on_event=program(fleet, 'cat >> "$0.told"', mode))
    fleet.wrong("n1")
    [problem] = act(fleet)
    assert words in problem and told(fleet) == []


def test_switched_on_later_it_is_told_what_happens_from_then_on(fleet: PlayedFleet) -> None:
    path, off = fleet.policy.on_event, None
    fleet.change(on_event=off)
    fleet.slow_twice("n1")
    act(fleet)
    fleet.change(on_event=path)
    fleet.slow_twice("n2")
    act(fleet)
    assert {each["node"] for each in told(fleet)} == {"n2"}


def test_metrics_show_the_state_after_the_drains_of_their_own_call(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    assert act(fleet, fleet.folder) == []
    text = (fleet.folder / "nearfar-fleet.prom").read_text()
    assert 'nearfar_fleet_nodes{state="drained",system="vm"} 1.0' in text
    assert 'nearfar_fleet_nodes{state="to_drain",system="vm"} 0.0' in text
    assert 'nearfar_fleet_node{node="n1",state="drained",system="vm"} 1.0' in text


def test_after_a_take_over_nothing_is_told_again(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    act(fleet)
    export = fleet.folder / "export.db"
    with fleet.ledger() as ledger:
        ledger.export(export)
    admin_host.take_over(fleet.state, fleet.slurm, str(export))
    fleet.wrong("n2")
    act(fleet)
    assert [each["node"] for each in told(fleet)] == ["n1", "n1", "n2", "n2"]


def test_a_finding_after_all_others_were_forgotten_is_told(fleet: PlayedFleet) -> None:
    fleet.wrong("n1", 600)
    act(fleet)
    fleet.clear("n1")
    with fleet.ledger() as ledger:
        ledger.forget(time.time() - 100, time.time() - 100)
    fleet.wrong("n2")
    act(fleet)
    assert [each["node"] for each in told(fleet) if each["event"] == "finding"] == ["n1", "n2"]


def test_nothing_is_told_after_a_drain_whose_end_is_not_known(fleet: PlayedFleet) -> None:
    """Told of the next one first, the program would never hear of it."""
    for node in ("n1", "n2"):
        fleet.wrong(node)
    act(fleet)
    with fleet.ledger() as ledger:
        ledger.write("UPDATE action SET outcome = 'unclear' WHERE node = 'n1' AND kind = 'drain'")
        ledger.write("DELETE FROM meta WHERE name LIKE 'on_event:%'")
        view = fleet.view()
        assert [row["kind"] for row in on_event._waiting(ledger, view)] == ["finding", "finding"]
    act(fleet)
    assert [(each["event"], each["node"]) for each in told(fleet)[-2:]] == [("drain", "n1"), ("drain", "n2")]


def test_two_systems_in_one_ledger(fleet: PlayedFleet) -> None:
    """Each program is told of its own system's nodes, and once."""
    other = replace(fleet.options, policy=replace(fleet.policy, system="other"))
    fleet.wrong("n1")
    fleet.act()
    act_and_tell(other, fleet.slurm, None)
    assert told(fleet) == []
    for _ in range(3):
        act(fleet)
        act_and_tell(other, fleet.slurm, None)
    assert sorted((each["event"], each["node"], each["system"]) for each in told(fleet)) == [
        ("drain", "n1", "vm"),
        ("finding", "n1", "vm"),
    ]
