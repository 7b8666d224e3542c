"""Nodes that are in use though they were found faulty, what many have at once, nodes that died: what is said, and what to type."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.slurm.findings import ActLog
from nearfar.slurm.status import GROUPS
from tests.slurm.status.test_status import Fleet
from tests.support.node_results import leave


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet(tmp_path, monkeypatch)
    system = tmp_path / "site/systems/vm.yaml"
    system.write_text(system.read_text().replace("nodes: 3, share: 0.5", "nodes: 2, share: 0.5"))
    return made


def group(fleet: Fleet, node: str) -> tuple[str, str]:
    [found] = [each for each in fleet.status.nodes if each.node == node]
    return found.group, found.words


def decided(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> str:
    """What the first group says; it is not empty, and the exit code says so."""
    capsys.readouterr()
    assert fleet.run("status") == 3
    said = capsys.readouterr().out
    first = said.split("\n\n")[1]
    assert first.startswith(f"{GROUPS['decide']}: ")
    assert fleet.run("status", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["waits"] and document["groups"]["decide"]["count"] == len(fleet.status.by_group["decide"])
    return first


def test_hard_evidence_that_is_only_observed(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    leave(fleet.results, "n3", "00000303", at=fleet.now - 60, check="peer_check", wrong="wrong data")
    fleet.run("act")
    said = decided(fleet, capsys)
    assert (
        "act may only observe peer_check;\n                nearfar slurm clear n3 --because WORDS, or drain it: scontrol update "
        in said
    )
    assert fleet.run("status", "n3") == 3 and "you decide" in capsys.readouterr().out
    fleet.slurm.drain("n3", "wrong data")
    assert fleet.status.by_group["others"][0].node == "n3", "somebody has decided"


def test_hard_evidence_on_a_node_that_somebody_has_resumed(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    leave(fleet.results, "n2", "00000102", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    time.sleep(1.1)  # Slurm keeps whole seconds
    fleet.slurm.resume("n2")
    fleet.run("act")
    assert "somebody has resumed it since" in decided(fleet, capsys)


def test_what_a_cap_holds(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("n1", "n2", "n3", "n5"):
        leave(fleet.results, name, f"0000010{name[1]}", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    assert "n[3,5]" in decided(fleet, capsys)
    fleet.run("log", "n5")
    said = capsys.readouterr().out
    assert "n[3,5]     held" in said and "drains are stopped: no more than 2 drained within a day" in said


def test_what_the_next_act_drains_is_nothing_to_decide(fleet: Fleet) -> None:
    leave(fleet.results, "n2", "00000102", at=fleet.now - 60, wrong="wrong data")
    assert group(fleet, "n2")[0] == "suspect"


def test_the_same_hard_evidence_on_many(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("n1", "n2", "n3"):
        leave(fleet.results, name, f"0000010{name[1]}", at=fleet.now - 60, wrong="GPU 2 is absent", code="absent")
    fleet.run("act")
    assert "n[1-3]" in decided(fleet, capsys)
    fleet.run("status")
    said = capsys.readouterr().out
    assert "held, you decide: host_device_check g:n: hard evidence on 3 of 3 nodes at once" in said
    assert "nearfar slurm clear 'n[1-3]' --because WORDS" in said
    assert "scontrol update nodename='n[1-3]' state=drain reason=WORDS" in said
    fleet.run("clear", "n[1-3]", "--because", "driver")
    capsys.readouterr()
    assert fleet.run("status") == 0 and "held" not in capsys.readouterr().out


def test_many_slow_nodes_at_once(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("n1", "n2", "n3"):
        fleet.slow(name, 7200, 60)
    leave(fleet.results, "n4", "00000001", at=fleet.now - 60)
    fleet.run("act")
    capsys.readouterr()
    assert fleet.run("status") == 3, "nobody but a person fixes a reference or a driver"
    said = capsys.readouterr().out
    assert "held, blamed on no node: host_device_check sole.g_n is slow on 3 of 4 nodes at once" in said
    assert "nearfar tune --system vm" in said and "nearfar slurm clear 'n[1-3]' --because WORDS" in said
    assert fleet.run("status", "--json") == 3
    [shared] = json.loads(capsys.readouterr().out)["shared"]
    assert (shared["nodes"], shared["tested"], shared["hard"]) == ("n[1-3]", 4, False)


def test_what_is_held_is_in_the_log_once(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("n1", "n2", "n3"):
        fleet.slow(name, 7200, 60)
    for _ in range(3):
        fleet.run("act")
    fleet.slow("n5", 7200, 30)
    fleet.run("act")
    fleet.run("clear", "n[1-3,5]", "--because", "reference fixed")
    fleet.run("act")
    fleet.run("act")
    lines = [entry for entry in ActLog(fleet.state).entries() if entry.action.startswith("held")]
    assert [(line.action, line.more["nodes"]) for line in lines] == [
        ("held", ["n1", "n2", "n3"]), ("held", ["n5"]), ("held_over", ["n1", "n2", "n3", "n5"]),
    ]  # fmt: skip
    capsys.readouterr()
    assert fleet.run("log", "n2") == 0
    said = capsys.readouterr().out.splitlines()
    assert [line[22:50].split(maxsplit=1) for line in said] == [
        ["n[1-3]", "held             "], ["n2", "cleared          "], ["n[1-3,5]", "no longer held   "],
    ]  # fmt: skip
    assert "host_device_check sole.g_n fails on 3 of 3 nodes at once" in said[0]
    assert fleet.run("log", "n7") == 0 and capsys.readouterr().out.startswith("nothing of n7 ")


def test_a_node_that_died_while_drained(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """That scontrol's state=resume takes the drain away: act/test_dead_nodes.py."""
    fleet.slow("n2", 7200, 60)
    leave(fleet.results, "n3", "00000103", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    for name in ("n2", "n3"):
        state = fleet.slurm.node(name)
        fleet.slurm.states[name] = replace(state, base="DOWN", flags=state.flags | {"NOT_RESPONDING"})
        found, words = group(fleet, name)
        assert found == "waits" and "nearfar slurm retest" in words
        assert "never scontrol's state=resume" in words
    capsys.readouterr()
    assert fleet.run("status", "n2") == 3 and "nearfar slurm retest n2" in capsys.readouterr().out
    fleet.slurm.states["n2"] = replace(fleet.slurm.node("n2"), flags=frozenset({"DRAIN"}))
    assert group(fleet, "n2") == ("to_test", "host_device_check has not run since; nearfar slurm retest n2")
