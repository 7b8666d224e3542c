"""Every row of the table of transitions happens as it says, and no other rule puts a node into a state."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.site.drain_policy import AvailableFloor, DrainCap, DrainSteps
from nearfar.slurm.act import node_states, quarantine
from nearfar.slurm.act.node_states import (
    CLEARED,
    DRAINED,
    GOOD,
    HELD,
    NOT_MEASURED,
    OTHERS,
    RETEST,
    SUSPECT,
    TO_DRAIN,
    UNJUDGED,
)
from nearfar.slurm.controller import reservations
from tests.conftest import CHECKOUT
from tests.support.played_fleet import PlayedFleet

sys.path.insert(0, str(CHECKOUT / "setup"))

from node_state_tables import ANY, TRANSITIONS, Transition

Step = Callable[[PlayedFleet], None]


def _taken_in(fleet: PlayedFleet) -> None:
    """What was found enters the ledger, and nothing is drained yet: no cap has room."""
    policy = fleet.policy
    fleet.change(per_day=DrainCap(0, 1.0))
    fleet.act()
    fleet.policy = policy


def wrong(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")


def to_drain(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    _taken_in(fleet)


def held(fleet: PlayedFleet) -> None:
    fleet.change(per_day=DrainCap(0, 1.0))
    fleet.wrong("n1")
    fleet.act()


def drained(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    fleet.act()


def reserved(fleet: PlayedFleet) -> None:
    """As ``retest`` leaves it while it measures."""
    drained(fleet)
    with fleet.ledger() as ledger:
        ledger.write("INSERT INTO retest VALUES ('nearfar-retest-1', ?, NULL, '{\"n1\": {}}')", time.time())
    fleet.slurm.resume("n1")


def others(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    fleet.slurm.drain("n1", "ticket 12")
    fleet.act()


def nothing(fleet: PlayedFleet) -> None:
    pass


def passes(fleet: PlayedFleet) -> None:
    fleet.result("n1")
    fleet.act()


def resume(fleet: PlayedFleet) -> None:
    fleet.slurm.resume("n1")
    _taken_in(fleet)


def retested(passed: bool) -> Step:
    def end(fleet: PlayedFleet) -> None:
        reason = "nearfar: FAIL host_device g2:n0 cell.wrong_data run=00000001"
        known = {"n1": {"reason": reason, "check": "host_device_check"}}
        with fleet.ledger() as ledger:
            again, why = ({}, {"n1": "host_device_check passed"}) if passed else (known, {})
            quarantine.end("nearfar-retest-1", again, why, time.time(), fleet.slurm, ledger)

    return end


HOW: dict[tuple[str, str], tuple[Step, Step]] = {
    (ANY, GOOD): (nothing, passes),
    (ANY, UNJUDGED): (nothing, lambda fleet: (fleet.result("n1", indeterminate="the GPU is busy"), fleet.act())[0]),
    (ANY, SUSPECT): (nothing, lambda fleet: (fleet.result("n1", speed=27.0), fleet.act())[0]),
    (ANY, TO_DRAIN): (nothing, to_drain),
    (ANY, NOT_MEASURED): (nothing, lambda fleet: (fleet.result("n1", ago=40 * 3600.0), fleet.act())[0]),
    (TO_DRAIN, HELD): (to_drain, lambda fleet: fleet.change(available=AvailableFloor(0.0, nodes=6))),
    (HELD, TO_DRAIN): (held, lambda fleet: fleet.change(per_day=DrainCap(1, 1.0))),
    (TO_DRAIN, DRAINED): (to_drain, lambda fleet: (fleet.act(), None)[1]),
    (DRAINED, RETEST): (drained, reserved),
    (RETEST, GOOD): (reserved, retested(True)),
    (RETEST, DRAINED): (reserved, retested(False)),
    (DRAINED, CLEARED): (drained, resume),
    (HELD, CLEARED): (held, lambda fleet: (fleet.clear("n1"), None)[1]),
    (DRAINED, OTHERS): (drained, lambda fleet: fleet.slurm.drain("n1", "ticket 12")),
    (ANY, OTHERS): (nothing, lambda fleet: (fleet.slurm.drain("n1", "ticket 12"), fleet.act())[0]),
    (OTHERS, TO_DRAIN): (others, resume),
    (CLEARED, GOOD): (lambda fleet: (drained(fleet), fleet.clear("n1"))[0], lambda fleet: (fleet.result("n1", ago=-31.0), fleet.act())[0]),
}  # fmt: skip


def test_every_row_is_tried() -> None:
    assert {(row.before, row.after) for row in TRANSITIONS} == set(HOW)


def test_the_manual_names_every_state() -> None:
    page = (CHECKOUT / "docs/drains.md").read_text(encoding="utf-8")
    assert [state for state in node_states.STATES if f"\n| {state.replace('_', ' ')} | " not in page] == []


@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row.before}-{row.after}")
def test_a_row_is_as_it_says(row: Transition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "remove", lambda slurm, name: None)
    fleet = PlayedFleet(tmp_path)
    before, event = HOW[row.before, row.after]
    before(fleet)
    if row.before != ANY:
        assert fleet.states()["n1"] == row.before
    event(fleet)
    assert fleet.states()["n1"] == row.after


def test_a_slow_figure_that_two_runs_confirm_is_drained(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.slow_twice("n2")
    fleet.act()
    assert fleet.node("n2").reason == "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000002"


def test_a_site_that_does_not_drain(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.change(default=DrainSteps("observe", "observe"))
    fleet.slow_twice("n2")
    fleet.wrong("n1")
    fleet.act()
    assert fleet.states() | {"n1": HELD, "n2": SUSPECT} == fleet.states() and fleet.drained() == []


def test_many_nodes_at_once_are_held_but_wrong_data_is_not(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.change(same_metric=DrainCap(3, 0.2))
    for node in ("n1", "n2", "n3"):
        fleet.result(node, wrong="GPU 2 is missing", code="absent", speed=None)
    fleet.wrong("n4")
    result = fleet.act()
    assert fleet.drained() == ["n4"]
    assert [fault.nodes for fault in result.view.fleet.shared] == [("n1", "n2", "n3")]
    assert {fleet.states()[node] for node in ("n1", "n2", "n3")} == {HELD}
    fleet.clear("n1")
    assert fleet.act().view.fleet.nodes["n2"].state == HELD, "clearing one leaves the others as they were"


def test_a_node_in_retest_is_left_alone(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    drained(fleet)
    fleet.state.joinpath("x").touch()
    with quarantine.alive(fleet.state, "nearfar-retest-1"):
        with fleet.ledger() as ledger:
            ledger.write("INSERT INTO retest VALUES ('nearfar-retest-1', ?, NULL, '{\"n1\": {}}')", time.time())
        fleet.slurm.resume("n1")
        fleet.wrong("n1", ago=0)
        fleet.act()
        assert (fleet.states()["n1"], fleet.drained()) == (RETEST, [])
