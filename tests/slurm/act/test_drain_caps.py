"""How many nodes act may take out of a partition: what others have out counts, and drains are held only while it lasts."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar import cli
from nearfar.base import SiteFile
from nearfar.base.errors import NearfarError
from nearfar.site import drain_policy
from nearfar.site.drain_policy import AvailableFloor, DrainCap, DrainSteps, Policy
from nearfar.slurm.act import ActOptions, act
from nearfar.slurm.act.decide import DRAIN, NOTHING, decide
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.findings import reasons
from nearfar.slurm.findings.log_summary import LogSummary
from tests.slurm.act.test_decide import (
    ABSENT,
    FOREIGN,
    NOW,
    OURS,
    POLICY,
    WRONG,
    cluster,
    code_of,
    drained,
    of,
    ran,
    state,
)
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave
from tests.support.told import Told

ROOMY = replace(POLICY, per_day=DrainCap(99, 1.0), in_all=DrainCap(99, 1.0), available=AvailableFloor(0.75))


def out(*names: str, base: str = "DOWN", reason: str | None = "Not responding") -> dict[str, NodeState]:
    return {name: state(name, base=base, reason=reason) for name in names}


def test_nodes_that_others_have_out_count() -> None:
    """Five of twenty are out, three by others; a quarter may be."""
    ours = {name: state(name, "DRAIN", reason=OURS) for name in ("n1", "n2")}
    nodes = cluster(20, **ours, **out("n3"), n4=state("n4", "DRAIN", reason=FOREIGN), n5=state("n5", "NOT_RESPONDING"))
    decided = decide([ran("n9", "r1", ABSENT)], nodes, ROOMY, LogSummary(), NOW)
    assert code_of(decided, "n9") == (NOTHING, "act.too_few_left")
    assert "partition gpu: 5 of 20 nodes are already out, 3 of them" in of(decided, "n9")[1]
    assert of(decided, "n9")[1].endswith(
        "scontrol update nodename=n9 state=drain reason='nearfar: FAIL host_device g2 cell.absent run=r1'"
    )
    assert decided.held and decided.stop is None, "nothing is stopped until a person says"
    less = decide([ran("n9", "r1", ABSENT)], {**nodes, "n3": state("n3")}, ROOMY, LogSummary(), NOW)
    assert of(less, "n9")[0] == DRAIN and not less.held


def test_wrong_data_is_told_loudly_and_stays_first() -> None:
    nodes = cluster(4, **out("n1"))
    decided = decide([ran("n2", "r1", WRONG)], nodes, ROOMY, LogSummary(), NOW)
    assert "WRONG DATA" in of(decided, "n2")[1]
    worst = decide([ran("n2", "r1", WRONG), ran("n3", "r2", WRONG)], cluster(4), ROOMY, LogSummary(), NOW)
    assert [of(worst, name)[0] for name in ("n2", "n3")] == [DRAIN, NOTHING], "each drain takes one away"


def test_a_node_that_is_not_usable_already_is_drained_all_the_same() -> None:
    nodes = cluster(4, **out("n1"), n2=state("n2", "NOT_RESPONDING"))
    assert of(decide([ran("n2", "r1", ABSENT)], nodes, ROOMY, LogSummary(), NOW), "n2")[0] == DRAIN


def test_a_full_partition_holds_only_its_own_nodes() -> None:
    nodes = {**cluster(4, **out("n1")), "m1": replace(state("m1"), partitions=("other",))}
    decided = decide([ran("n2", "r1", ABSENT), ran("m1", "r2", ABSENT)], nodes, ROOMY, LogSummary(), NOW)
    assert (of(decided, "n2")[0], of(decided, "m1")[0]) == (NOTHING, DRAIN), "one node of each partition may go"


def test_drains_that_are_stopped_already_say_so() -> None:
    past = LogSummary(stopped="no more than 2 drained within a day")
    decided = decide([ran("n2", "r1", ABSENT)], cluster(4, **out("n1")), ROOMY, past, NOW)
    assert code_of(decided, "n2")[1] == "act.drains_stopped" and decided.held


def test_who_is_drained_is_resumed_whatever_is_left() -> None:
    nodes = cluster(4, **out("n2", "n3"), n1=state("n1", "DRAIN", reason=OURS))
    decided = decide([ran("n1", "r9", passed=["sole.g2_n0"])], nodes, ROOMY, drained("n1", 5), NOW)
    assert of(decided, "n1")[0] == "resume"


@settings(deadline=None, max_examples=200)
@given(
    size=st.integers(1, 30), others=st.sets(st.integers(1, 30)), failing=st.sets(st.integers(1, 30)),
    share=st.floats(0, 1), nodes=st.integers(0, 5),
)  # fmt: skip
def test_no_drain_of_ours_leaves_fewer_than_the_floor(
    size: int, others: set[int], failing: set[int], share: float, nodes: int
) -> None:
    policy = replace(ROOMY, available=AvailableFloor(share, nodes), same_metric=DrainCap(99, 1.0))
    fleet = {f"n{i}": state(f"n{i}", base="DOWN" if i in others else "IDLE") for i in range(1, size + 1)}
    runs = [ran(f"n{i}", f"r{i}", WRONG) for i in failing if i <= size]
    decided = decide(runs, fleet, policy, LogSummary(), NOW)
    drains = {d.node for d in decided.nodes if d.action == DRAIN}
    usable = sum(node.usable for node in fleet.values())
    least = policy.floor.of(size)
    assert usable - len(drains) >= min(usable, least)
    held = {d.node for d in decided.nodes if d.held}
    wanted = {run.node for run in runs if fleet[run.node].usable}
    assert drains | held == wanted, "each is drained, or held and told"
    assert not held or usable - len(drains) - 1 < least, "nobody is held for nothing"


@pytest.mark.parametrize(
    ("given_", "in_all", "size", "least"),
    [
        (None, 0.1, 20, 16), (None, 0.1, 4, 3), (None, 0.1, 1, 0), (None, 0.1, 1000, 800), (None, 0.6, 20, 0),
        (AvailableFloor(1.0), 0.1, 20, 19), (AvailableFloor(0.9, 2), 0.1, 2, 2), (AvailableFloor(0.29), 0.1, 100, 29),
    ],
)  # fmt: skip
def test_how_many_must_stay(given_: AvailableFloor | None, in_all: float, size: int, least: int) -> None:
    """By default as many may be out by others as act may drain."""
    assert Policy("s", in_all=DrainCap(8, in_all), available=given_).floor.of(size) == least


def policy_of(folder: Path, act: str) -> Policy:
    path = folder / "s.yaml"
    path.write_text(f"system: s\nact: {act}\npartitions: [{{name: gpu}}]\n")
    file = SiteFile(path)
    file.check("system-1")
    return drain_policy.of_system(file)


def test_in_the_system_file(tmp_path: Path) -> None:
    assert policy_of(tmp_path, "{}").floor == AvailableFloor(0.8)
    both = policy_of(tmp_path, "{cap: {in_all: {nodes: 8, share: 0.2}, available: {nodes: 3}}}")
    assert (both.floor.nodes, round(both.floor.share, 9)) == (3, 0.6)
    assert policy_of(tmp_path, "{cap: {available: {share: 0.9}}}").floor == AvailableFloor(0.9)
    for wrong in ("{share: 1.5}", "{nodes: -1}", "{share: most}", "{shere: 0.5}"):
        with pytest.raises(NearfarError, match=r"s\.yaml:2"):
            policy_of(tmp_path, f"{{cap: {{available: {wrong}}}}}")


def test_a_cap_that_is_never_reached_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"

    def told(cap: str) -> list[str]:
        path.write_text(f"system: s\nact:\n  cap:\n    {cap}\n")
        return [str(problem) for problem in drain_policy.unreached(SiteFile(path))]

    (words,) = told("available: {share: 0.95}")
    assert words == (
        f"{path}:4: act: cap: available leaves 0.05 of a partition to all nodes that are out of use, "
        "less than the 0.1 of in_all, which is then never reached"
    )
    assert not told("available: {share: 0.9}") and not told("in_all: {nodes: 8, share: 0.9}")
    assert not told("available: {nodes: 3}")


SYSTEM = """\
system: vm
hosts: ["n[1-4]"]
act: {{trusted: [{user}], default: drain, cap: {{in_all: {{share: 0.5}}, per_day: {{share: 0.5}}, available: {{share: 0.75}}}}}}
partitions: [{{name: gpu}}]
"""


def test_held_while_it_lasts_told_each_time_and_then_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM.format(user=os.geteuid()))
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    slurm = FakeSlurm(("n1", "n2", "n3", "n4"), keeps=False)
    slurm.die("n1")
    for name in ("nodes", "node", "started", "update", "wait"):
        monkeypatch.setattr(Slurm, name, getattr(slurm, name))
    results = tmp_path / "results"
    results.mkdir()
    leave(results, "n2", "00000001", at=time.time() - 60, wrong="wrong data")
    command = ["slurm", "act", f"--results={results}", f"--state={tmp_path / 'state'}"]
    for _ in range(2):
        assert cli.main(command) == 3
        told = capsys.readouterr().out
        assert told.startswith("n2           held          FAIL host_device g2:n0 cell.wrong_data run=00000001: held ")
        assert "1 of 4 nodes" in told and "at least 3 must stay" in told
        assert not slurm.node("n2").drain
    assert cli.main([*command, "--json"]) == 3
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (node["held"], node["action"]) == (True, "nothing")
    slurm.come_back("n1")
    assert cli.main(command) == 0
    assert slurm.node("n2").drain, "nobody had to allow it"


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [('"unit": "GB/s"', f'"unit": "{120 * "x"}"', 1), ('"value": 27.1', '"value": -1e999', 0)],
)
def test_drains_for_odd_figures_count_against_the_cap_in_all(tmp_path: Path, was: str, now: str, expected: int) -> None:
    site = Told(tmp_path, ("n1", "n2", "n3"))
    most, one = DrainCap(99, 1.0), DrainCap(1, 1.0)
    policy = Policy(
        "vm", frozenset({os.geteuid()}), DrainSteps("drain", "drain"), per_day=most, in_all=one, same_metric=most
    )
    for number in (1, 2, 3):
        for run, ago in ((f"0000001{number}", 7200), (f"0000002{number}", 60)):
            path = leave(site.results, f"n{number}", run, at=site.now - ago, speed=27.1) / "result.json"
            path.write_text(path.read_text().replace(was, now))
            os.utime(path.parent, (site.now - ago, site.now - ago))
        act.run(ActOptions(policy, site.results, None, site.state), site.slurm)  # type: ignore[arg-type]
    drained = sum(state.drain for state in site.slurm.states.values())
    assert drained == expected


def test_a_reason_that_cannot_be_read_back_drains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "read", lambda text: None)
    decided = decide([ran("n2", "r1", ABSENT)], cluster(4), ROOMY, LogSummary(), NOW)
    assert code_of(decided, "n2") == (NOTHING, "act.reason_not_read") and decided.held
