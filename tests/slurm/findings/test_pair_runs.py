"""What ``nearfar slurm act`` takes from MPI between nodes: the same figure with two partners, all pairs believed, or nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import Finding
from nearfar.site.drain_policy import DrainCap, DrainSteps, Policy
from nearfar.slurm.act.decide import DRAIN, NOTHING, RESUME, Decision, decide
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings.gathering import Gathered, TimeRange, gather
from nearfar.slurm.findings.log_summary import LogSummary, OurDrain
from tests.support.pair_results import LATENCY, WITHIN, figure, leave

NOW = float(int(time.time()))
POLICY = Policy(
    "vm", checks={"mpi_pairs": DrainSteps("drain", "drain")}, per_day=DrainCap(4, 1.0), in_all=DrainCap(4, 1.0)
)
GOOD: dict[str, Any] = {"metrics": [figure(1.5)]}
SLOW: dict[str, Any] = {"metrics": [figure(9.0)]}
#: n4 is slow with everybody: the rounds as a sweep of six nodes has them.
N4 = [
    {"n1+n2": GOOD, "n3+n4": SLOW, "n5+n6": GOOD},
    {"n1+n3": GOOD, "n2+n4": SLOW},
]
NO_PAST = LogSummary()
PLACE = Path("s/pairs-2/nodes/n2+n4/1")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def gathered(results: Path, users: Sequence[int] = (os.geteuid(), 0)) -> Gathered:
    return gather(results, None, "vm", frozenset(users), NOW, TimeRange(NOW - 8 * 86400))


def decided(
    results: Path, policy: Policy = POLICY, past: LogSummary = NO_PAST, **states: NodeState
) -> dict[str, Decision]:
    cluster = {
        f"n{number}": NodeState(f"n{number}", "IDLE", frozenset(), partitions=("all",)) for number in range(1, 7)
    }
    found = gathered(results)
    return {each.node: each for each in decide(found.runs, {**cluster, **states}, policy, past, NOW).nodes}


def words(results: Path) -> dict[str, tuple[str, str]]:
    return {run.node: (run.verdict, run.words) for run in gathered(results).runs}


def test_a_node_that_is_slow_with_two_partners_is_drained(results: Path) -> None:
    leave(results, "s", NOW - 60, N4)
    found = decided(results)
    assert {node: each.action for node, each in found.items()} == {
        "n4": DRAIN, **dict.fromkeys(("n1", "n2", "n3", "n5", "n6"), NOTHING),
    }  # fmt: skip
    assert found["n4"].reason == f"nearfar: FAIL mpi_pairs {LATENCY} 9>2 us run=73020204"
    assert found["n4"].why == (
        "confirmed by run 73010304 with another partner; MPI between nodes is too slow or wrong with n3 and n2, and n2 is "
        "well with others"
    )
    observed = decided(results, Policy("vm"))["n4"]
    assert (observed.action, observed.cause.code) == (NOTHING, "act.observed"), "the default"


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
def test_what_blames_nobody(results: Path, rounds: Sequence[Mapping[str, Any]], said: str | None) -> None:
    leave(results, "s", NOW - 60, rounds)
    found = decided(results)
    if said is None:
        assert found["n3"].action == found["n4"].action == DRAIN, "both are slow with two, of whom one is proven"
        return
    assert (found["n4"].action, found["n4"].cause.code) == (NOTHING, "act.could_not_judge")
    assert words(results)["n4"][0] == "INDETERMINATE" and said in words(results)["n4"][1]


def test_what_lies_between_two_good_nodes_never_acts(results: Path) -> None:
    leave(results, "s", NOW - 60, [{"n1+n2": GOOD, "n3+n4": SLOW}, {"n1+n3": GOOD, "n2+n4": GOOD}])
    assert {each.action for each in decided(results).values()} == {NOTHING}
    assert words(results)["n4"] == ("PASS", "MPI between nodes is well with n2, not with n3")


def test_wrong_data_is_hard_only_with_both_partners(results: Path) -> None:
    wrong = {"metrics": [figure(1.5)], "wrong": "wrong data at 8 B"}
    leave(results, "s", NOW - 60, [{"n1+n2": GOOD, "n3+n4": wrong}, {"n1+n3": GOOD, "n2+n4": wrong}])
    found = decided(results)["n4"]
    assert found.action == DRAIN and "wrong_data" in str(found.reason)
    assert found.evidence is not None and found.evidence.finding.hard
    shutil.rmtree(results / "s")
    shutil.rmtree(results.parent, ignore_errors=True)
    results.mkdir(parents=True)
    leave(results, "s", NOW - 60, [{"n1+n2": GOOD, "n3+n4": wrong}, {"n1+n3": GOOD, "n2+n4": SLOW}])
    assert decided(results)["n4"].action == NOTHING, "wrong data once, slow once"


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


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_half, "half a result is not counted"),
        (_another, "of node n5+n6, in the place of n2+n4"),
        (_open, "others can write to it"),
        (_gone, "the result of n2+n4 is gone"),
        (_rewritten, "not a whole JSON document"),
        (_later, "which is not yet"),
    ],
)  # fmt: skip
def test_one_pair_that_is_not_believed_and_nobody_is_blamed(results: Path, spoil: Any, why: str) -> None:
    leave(results, "s", NOW - 60, N4)
    spoil(results / PLACE)
    (line,) = gathered(results).refused
    assert why in line and line.endswith("MPI between the nodes of s blames nobody")
    assert decided(results) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_pairs_of_another_user_count_for_nothing(results: Path) -> None:
    leave(results, "s", NOW - 60, N4)
    os.chown(results / PLACE / "result.json", 65534, 65534)
    (line,) = gathered(results).refused
    assert "belongs to user 65534" in line
    os.chown(results / "s/pairs-1/sweep.json", 65534, 65534)
    assert "pairs-1/sweep.json: belongs to user 65534" in gathered(results).refused[0]


def test_pairs_that_are_old_or_of_another_system_are_passed_over(results: Path) -> None:
    leave(results, "s", NOW - 9 * 86400, N4)
    assert gathered(results) == Gathered((), (), sweeps=("s",))
    leave(results, "t", NOW - 60, N4)
    assert gather(results, None, "other", frozenset({os.geteuid()}), NOW, TimeRange(0.0)).runs == ()


def test_it_is_resumed_by_the_same_figure_with_a_partner_that_is_well(results: Path) -> None:
    leave(results, "s", NOW - 7200, N4)
    reason = str(decided(results)["n4"].reason)
    drained = NodeState("n4", "IDLE", frozenset({"DRAIN"}), reason, partitions=("all",))
    slow = Finding(LATENCY, "FAIL", "", fields={"value": 9.0})
    past = LogSummary({"n4": NOW - 7100}, {"n4": OurDrain(NOW - 7100, reason, "mpi_pairs", slow)})
    stays = decided(results, past=past, n4=drained)["n4"]
    assert stays.action == NOTHING
    assert stays.cause.code == "act.stays_drained"
    assert stays.why.endswith("; nearfar slurm retest n4 --beside OTHER")
    leave(results, "t", NOW - 60, [{"n1+n4": GOOD}])
    assert decided(results, past=past, n4=drained)["n4"].action == RESUME


@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_whatever_the_umask_of_who_submitted(results: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        leave(results, "s", NOW - 60, N4)
    finally:
        os.umask(before)
    assert gathered(results).refused == () and decided(results)["n4"].action == DRAIN
    assert (results / "s/pairs-1/sweep.json").stat().st_mode & 0o777 == 0o644
