"""What is done about a node in each of Slurm's states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.slurm.act import messages
from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains.objections import objection_to_drain, objection_to_resume
from tests.support.played_fleet import PlayedFleet

OURS = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=r0"
#: States of Slurm: whether a node in it is drained, resumed, and counts as usable.
STATES = [
    *((words, True, True, True) for words in (
        "IDLE", "MIXED+PLANNED", "ALLOCATED", "IDLE+COMPLETING", "IDLE+PLANNED", "IDLE+RESERVED", "IDLE+MAINTENANCE", "IDLE+BLOCKED",
        "IDLE+DYNAMIC_NORM", "IDLE+CLOUD", "IDLE+POWERED_DOWN", "IDLE+POWERING_UP",
    )),
    ("IDLE+POWERING_DOWN", True, False, True), ("IDLE+CLOUD+POWERED_DOWN", False, True, True),
    ("IDLE+CLOUD+POWERING_DOWN", False, False, True), ("IDLE+REBOOT_REQUESTED", True, False, True),
    ("IDLE+REBOOT_ISSUED", False, False, False), ("IDLE+NOT_RESPONDING", True, False, False),
    ("DOWN", False, True, False), ("DOWN+POWERED_DOWN", False, True, False),
    ("IDLE+INVALID_REG", True, False, False), ("IDLE+INVAL", True, False, False),
    *((words, False, False, False) for words in (
        "DOWN+NOT_RESPONDING", "DOWN+REBOOT_ISSUED", "ERROR", "IDLE+FAIL", "DOWN+FAIL", "UNKNOWN", "FUTURE",
    )),
]  # fmt: skip


def node(words: str, reason: str | None = None) -> NodeState:
    base, *flags = words.split("+")
    return NodeState("n1", base, frozenset(flags), reason, partitions=("all",), fields={"CPUAlloc": "0"})


def test_the_table_has_the_states_that_slurm_has() -> None:
    flags = {word for words, *_ in STATES for word in words.split("+")}
    assert flags >= {
        "IDLE", "MIXED", "ALLOCATED", "DOWN", "ERROR", "UNKNOWN", "FUTURE", "BLOCKED", "CLOUD", "COMPLETING", "DYNAMIC_NORM", "FAIL",
        "INVALID_REG", "MAINTENANCE", "NOT_RESPONDING", "PLANNED", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "REBOOT_ISSUED",
        "REBOOT_REQUESTED", "RESERVED",
    }  # fmt: skip


@pytest.mark.parametrize(("words", "drains", "resumes", "usable"), STATES)
def test_what_is_done_in_each_state(tmp_path: Path, words: str, drains: bool, resumes: bool, usable: bool) -> None:
    assert node(words).usable is usable
    assert (objection_to_drain(node(words)) is None) is drains, "asked again just before the write"
    fleet = PlayedFleet(tmp_path, ("n1", "n2"))
    fleet.slurm.states["n1"] = node(words)
    fleet.wrong("n1")
    status = fleet.act().view.fleet.nodes["n1"]
    assert fleet.node("n1").drain is drains
    assert drains or status.evidence is not None, "what was found is listed whatever its state"

    ours = node(f"{words}+DRAIN", OURS)
    assert (objection_to_resume(ours, OURS) is None) is resumes
    fleet.slurm.states["n1"] = ours
    [said] = fleet.clear("n1")
    assert fleet.node("n1").drain is not resumes, said
    assert resumes or ours.words in said


@pytest.mark.parametrize("words", ["FROZEN", "IDLE+FROZEN", "INVAL"])
def test_a_state_that_is_not_known_is_left_alone_and_told(tmp_path: Path, words: str) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.slurm.states["n1"] = node(words)
    fleet.wrong("n1")
    status = fleet.act().view.fleet.nodes["n1"]
    assert fleet.drained() == [] and status.cause.code == messages.UNREADABLE.code
    assert status.evidence is not None


@pytest.mark.parametrize("keeps", [False, True], ids=["22.05", "23.02"])
def test_a_drained_node_that_dies_stays_ours(tmp_path: Path, keeps: bool) -> None:
    """Slurm 22.05 keeps our reason, 23.02 and later append theirs; ReturnToService=1 leaves it down when it answers again."""
    fleet = PlayedFleet(tmp_path, keeps=keeps)
    fleet.wrong("n1")
    fleet.act()
    fleet.slurm.die("n1")
    status = fleet.act().view.fleet.nodes["n1"]
    assert status.state == "drained" and "check its console and power-cycle it" in str(status.cause.reason)
    fleet.slurm.come_back("n1")
    assert fleet.act().view.fleet.nodes["n1"].state == "drained"
    assert fleet.clear("n1")[0].startswith("in use again")
    fleet.slurm.states["n1"] = replace(fleet.node("n1"), flags=frozenset())
    fleet.act()
    assert fleet.drained() == []
