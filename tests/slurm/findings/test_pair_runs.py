"""What ``nearfar slurm act`` takes from MPI between nodes: the same figure with two partners, all pairs believed, or nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.act import node_states
from nearfar.slurm.ledger import Ledger
from tests.support.pair_results import LATENCY, WITHIN, figure, leave
from tests.support.played_fleet import PlayedFleet
from tests.support.taking_in import Taken, take_in

NOW = float(int(time.time()))
GOOD: dict[str, Any] = {"metrics": [figure(1.5)]}
SLOW: dict[str, Any] = {"metrics": [figure(9.0)]}
#: n4 is slow with everybody: the rounds as a sweep of six nodes has them.
N4 = [
    {"n1+n2": GOOD, "n3+n4": SLOW, "n5+n6": GOOD},
    {"n1+n3": GOOD, "n2+n4": SLOW},
]
PLACE = Path("s/pairs-2/nodes/n2+n4/1")


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    return PlayedFleet(tmp_path)


def taken(fleet: PlayedFleet) -> Taken:
    return take_in(fleet.results, None, NOW)


def words(fleet: PlayedFleet) -> dict[str, tuple[str, str]]:
    return {run.node: (run.verdict, run.words) for run in taken(fleet).runs}


def test_a_node_that_is_slow_with_two_partners_is_drained(fleet: PlayedFleet) -> None:
    leave(fleet.results, "s", NOW - 60, N4)
    [(status, _)] = fleet.act().done
    assert fleet.drained() == ["n4"]
    assert status.reason == f"nearfar: FAIL mpi_pairs {LATENCY} 9>2 us run=73020204"
    assert status.cause.reason == (
        "confirmed by run 73010304 with another partner; MPI between nodes is too slow or wrong with n3 and n2, and n2 is "
        "well with other partners"
    )


@pytest.mark.parametrize(
    ("rounds", "said"),
    [
        (N4[:1], "no node that passed was there to compare with"),  # the second round is still to come
        ([N4[0], {"n1+n3": GOOD, "n2+n4": {"metrics": [figure(9.0, name="near.osu_bw.H_H.mlx5_0.peak")]}}], "no one figure"),
        ([N4[0], {"n1+n3": GOOD, "n2+n4": {"metrics": [], "unclear": "no OSU"}}], "no second node that passed"),
        # Slow within the node that ran it: each node's own run is about that.
        ([{**N4[0], "n3+n4": {"metrics": [figure(9.0, WITHIN)]}}, N4[1]], "no second node that passed"),
        ([N4[0], {"n1+n3": SLOW, "n2+n4": SLOW}], None),
    ],
)  # fmt: skip
def test_what_blames_nobody(fleet: PlayedFleet, rounds: Sequence[Mapping[str, Any]], said: str | None) -> None:
    leave(fleet.results, "s", NOW - 60, rounds)
    fleet.act()
    if said is None:
        assert fleet.drained() == ["n3", "n4"], "both are slow with two, of whom one is proven"
        return
    assert fleet.drained() == [] and fleet.states()["n4"] == node_states.UNJUDGED
    assert words(fleet)["n4"][0] == "INDETERMINATE" and said in words(fleet)["n4"][1]


def test_what_lies_between_two_good_nodes_never_acts(fleet: PlayedFleet) -> None:
    leave(fleet.results, "s", NOW - 60, [{"n1+n2": GOOD, "n3+n4": SLOW}, {"n1+n3": GOOD, "n2+n4": GOOD}])
    fleet.act()
    assert fleet.drained() == []
    assert words(fleet)["n4"] == ("PASS", "MPI between nodes is well with n2, not with n3")


def test_wrong_data_is_hard_only_with_both_partners(fleet: PlayedFleet) -> None:
    wrong = {"metrics": [figure(1.5)], "wrong": "wrong data at 8 B"}
    leave(fleet.results, "a", NOW - 60, [{"n1+n2": GOOD, "n3+n4": wrong}, {"n1+n3": GOOD, "n2+n4": SLOW}])
    fleet.act()
    assert fleet.drained() == [], "wrong data once, slow once"
    leave(fleet.results, "b", NOW - 30, [{"n1+n2": GOOD, "n3+n4": wrong}, {"n1+n3": GOOD, "n2+n4": wrong}])
    [(status, _)] = fleet.act().done
    assert "wrong_data" in str(status.reason) and status.evidence is not None and status.evidence.finding.hard


def test_pairs_that_come_later_are_judged_with_those_that_were_there(fleet: PlayedFleet) -> None:
    ledger = Ledger.in_memory()
    leave(fleet.results, "s", NOW - 60, N4)
    shutil.move(fleet.results / "s/pairs-2", fleet.folder / "later")
    first = take_in(fleet.results, None, NOW, ledger)
    assert {run.verdict for run in first.runs if run.node == "n4"} == {"INDETERMINATE"}
    shutil.move(fleet.folder / "later", fleet.results / "s/pairs-2")
    for _ in range(2):
        whole = take_in(fleet.results, None, NOW, ledger)
        assert [(run.run, run.verdict) for run in whole.runs if run.node == "n4"][-1] == ("73020204", "FAIL")


def _half(place: Path) -> None:
    text = (place / "n2/osu_check/verdict.json").read_text()
    (place / "n2/osu_check/verdict.json").write_text(text[: len(text) // 2])


def _another(place: Path) -> None:
    raw = json.loads((place / "result.json").read_text())
    (place / "result.json").write_text(json.dumps({**raw, "node": "n5+n6"}))


def _open(place: Path) -> None:
    place.parent.chmod(0o777)


def _gone(place: Path) -> None:
    shutil.rmtree(place)


def _rewritten(place: Path) -> None:
    (place.parents[2] / "sweep.json").write_text('{"schema": "nearfar-sweep/1", "tas')


def _later(place: Path) -> None:
    raw = json.loads((place / "result.json").read_text())
    (place / "result.json").write_text(json.dumps({**raw, "ended": "2099-01-01T00:00:00Z"}))


def _given_away(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(place / "result.json", 65534, 65534)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_half, "an incomplete result is not counted"),
        (_another, "of node n5+n6, in the place of n2+n4"),
        (_open, "other users can write to it"),
        (_gone, "the result of n2+n4 is gone"),
        (_rewritten, "not a whole JSON document"),
        (_later, "which is not yet"),
        (_given_away, "belongs to user 65534"),
    ],
)  # fmt: skip
def test_one_pair_that_is_not_believed_and_nobody_is_blamed(
    fleet: PlayedFleet, spoil: Callable[[Path], None], why: str
) -> None:
    leave(fleet.results, "s", NOW - 60, N4)
    spoil(fleet.results / PLACE)
    (line,) = taken(fleet).refused
    assert why in line and taken(fleet).runs == []
    fleet.act()
    assert fleet.drained() == []


def test_pairs_of_another_system_are_passed_over(fleet: PlayedFleet) -> None:
    leave(fleet.results, "t", NOW - 60, N4)
    fleet.change(system="other")
    assert not fleet.act().view.refused and fleet.drained() == []


@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_whatever_the_umask_of_who_submitted(fleet: PlayedFleet, umask: int) -> None:
    before = os.umask(umask)
    try:
        leave(fleet.results, "s", NOW - 60, N4)
    finally:
        os.umask(before)
    fleet.act()
    assert fleet.drained() == ["n4"]
    assert (fleet.results / "s/pairs-1/sweep.json").stat().st_mode & 0o777 == 0o644
