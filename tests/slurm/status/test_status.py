"""The fleet in one screen: every node in one group, what waits for a person first, and no more than a screen of it."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.commands.slurm import act_arguments
from nearfar.slurm.act import ActOptions, clear, read_policy, view
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings import ActLog
from nearfar.slurm.status import GROUPS, FleetStatus, status_of, status_page
from nearfar.slurm.status.fleet_status import NodeStatus, UsedCap
from tests.conftest import CHECKOUT
from tests.support.acting import SYSTEM
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave

NAMES = tuple(f"n{number}" for number in range(1, 13))


class Fleet:
    """Twelve nodes, of which the system's file names ten, in a Slurm that is pretended."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        systems = folder / "site" / "systems"
        systems.mkdir(parents=True)
        (systems / "vm.yaml").write_text(SYSTEM.format(user=os.geteuid()).replace("n[1-6]", "n[1-10]"))
        monkeypatch.setenv("NEARFAR_SITE", str(folder / "site"))
        self.slurm = FakeSlurm(NAMES, keeps=False)
        monkeypatch.setattr(act_arguments, "slurm", lambda: self.slurm)
        self.results, self.state, self.now = folder / "results", folder / "state", time.time()
        self.results.mkdir()

    @property
    def options(self) -> ActOptions:
        return ActOptions(read_policy(None), self.results, None, self.state)

    def run(self, command: str, *words: str) -> int:
        return cli.main(["slurm", command, f"--state={self.state}", f"--results={self.results}", *words])

    def slow(self, node: str, *ago: float) -> None:
        for number, before in enumerate(ago):
            leave(self.results, node, f"{node[1:]:0>4}{number:04}", at=self.now - before, speed=27.1)

    @property
    def status(self) -> FleetStatus:
        return status_of(view.look(self.options, self.slurm), self.options)  # type: ignore[arg-type]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def filled(fleet: Fleet) -> None:
    """One node for each group, and what it takes."""
    fleet.slurm.drain("n4", "bad DIMM, ticket 12")
    leave(fleet.results, "n1", "00000001", at=fleet.now - 60)
    leave(fleet.results, "n10", "00000010", at=fleet.now - 60)
    leave(fleet.results, "n2", "00000102", at=fleet.now - 60, wrong="wrong data")
    fleet.slow("n3", 7200, 60)
    leave(fleet.results, "n5", "00000005", at=fleet.now - 60, speed=None, indeterminate="the GPU is busy")
    fleet.slow("n6", 60)
    leave(fleet.results, "n7", "00000007", at=fleet.now - 5 * 86400)
    leave(fleet.results, "n9", "00000009", at=fleet.now - 60, looks=(27.0, 55.0, 55.0))


def test_every_node_is_in_one_group(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    filled(fleet)
    found = {node.node: (node.group, node.words) for node in fleet.status.nodes}
    assert found["n2"] == ("suspect", "the next act drains it: hard evidence stands at once")
    assert found["n3"] == ("suspect", "the next act drains it: confirmed by run 00030000")
    assert fleet.run("act") == 0
    found = {node.node: (node.group, node.words) for node in fleet.status.nodes}
    assert found == {
        "n1": ("good", ""), "n10": ("good", ""),
        "n2": ("waits", "hard evidence; once it is repaired or checked: nearfar slurm clear n2 --because WORDS"),
        "n3": ("to_test", "host_device_check has not run since; nearfar slurm retest n3"),
        "n4": ("others", "IDLE+DRAIN 'bad DIMM, ticket 12' by alice"),
        "n5": ("unjudged", "host_device_check: the GPU is busy"),
        "n6": ("suspect", "seen once: a second run has to confirm it"),
        "n7": ("not_measured", f"last on {time.strftime('%Y-%m-%d', time.gmtime(fleet.now - 5 * 86400))}"),
        "n8": ("not_measured", "never"), "n9": ("suspect", "DEGRADED host_device_check"),
    }  # fmt: skip
    assert not {"n11", "n12"} & {node.node for node in fleet.status.nodes}, "the system's file does not name them"
    leave(fleet.results, "n12", "00000012", at=fleet.now - 60, wrong="wrong data")
    assert fleet.status.by_group["suspect"][-1].node == "n9"
    assert "n12" in {node.node for node in fleet.status.nodes}, "something is known of it"


def test_the_screen(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    filled(fleet)
    assert fleet.run("act") == 0
    capsys.readouterr()
    before = sorted(path.name for path in fleet.state.iterdir())
    assert fleet.run("status") == 3, "something waits for a person"
    said = capsys.readouterr().out
    lines = re.sub(
        r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d UTC)?)?", "WHEN", re.sub(r"ran \d+ seconds?", "ran 0 seconds", said)
    )
    assert lines == """\
vm: 10 nodes, WHEN; act ran 0 seconds ago
drains: 2 of 4 in all; 2 of 3 within a day

drained by us, waits for a person: 1
  n2            FAIL host_device g2:n0 cell.wrong_data run=00000102, since WHEN
                hard evidence; once it is repaired or checked: nearfar slurm clear n2 --because WORDS

drained by us, to be tested again: 1
  n3            FAIL host_device d2h g2 27.1<52.6 GB/s run=00030001, since WHEN
                host_device_check has not run since; nearfar slurm retest n3

suspect: 2
  n6            FAIL host_device d2h g2 27.1<52.6 GB/s run=00060000
                seen once: a second run has to confirm it
  n9            DEGRADED host_device_check

out of use, not by us: 1
  n4            IDLE+DRAIN 'bad DIMM, ticket 12' by alice, since WHEN

could not be judged: 1
  n5            host_device_check: the GPU is busy
  → which file says so: nearfar slurm status n5
  → measure them: nearfar slurm sweep --partition all --nodes n5 --idle

not measured lately (within 36 hours): 2
  n7            last on WHEN
  n8            never
  → measure them: nearfar slurm sweep --partition all --nodes 'n[7-8]' --idle

good: 2
  n[1,10]
""", said  # fmt: skip
    assert sorted(path.name for path in fleet.state.iterdir()) == before, "nothing is written"


def test_nothing_waits(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    leave(fleet.results, "n1", "00000001", at=fleet.now - 60)
    assert fleet.run("status") == 0 and not fleet.state.exists()
    assert "act has not run here" in capsys.readouterr().out
    fleet.slow("n2", 60)
    assert fleet.run("status") == 0, "a suspect is measured again by itself"
    assert fleet.run("status", "n2") == 0
    assert "seen once: a second run has to confirm it" in capsys.readouterr().out
    assert fleet.run("status", "n99") == 2
    assert capsys.readouterr().err == "nearfar: Slurm has no node n99, and no result is of it\n"


def test_stopped_drains_and_a_file_that_is_not_believed(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("n1", "n2", "n3", "n5"):
        leave(fleet.results, name, f"0000010{name[1]}", at=fleet.now - 60, wrong=f"wrong data in {name}")
    fleet.run("act")
    (leave(fleet.results, "n6", "00000006", at=fleet.now - 60) / "result.json").chmod(0o666)
    capsys.readouterr()
    assert fleet.run("status") == 3
    said = capsys.readouterr().out
    assert "drains: 3 of 4 in all; 3 of 3 within a day\ndrains are stopped: no more than 3 drained within a day" in said
    assert "nearfar slurm allow-drains --because WORDS" in said and "n6/1" in said
    assert "  n[1-3]        FAIL host_device g2:n0 cell.wrong_data, since" in said, "the same is said once"
    assert "nearfar slurm clear 'n[1-3]' --because WORDS" in said


def test_one_that_was_released_is_not_good_before_it_was_measured(fleet: Fleet) -> None:
    fleet.slow("n3", 7200, 60)
    fleet.run("act")
    assert fleet.run("release", "n3", "--because", "needed") == 0
    (node,) = [node for node in fleet.status.nodes if node.node == "n3"]
    assert (
        node.group == "not_measured"
        and "host_device_check not since it was drained, cleared or released on " in node.words
    )
    leave(fleet.results, "n3", "000000ff", at=time.time())
    assert "n3" in [node.node for node in fleet.status.by_group["good"]]


def test_one_that_passed_its_retest_is_good(fleet: Fleet) -> None:
    fleet.slow("n3", 7200, 60)
    fleet.run("act")
    leave(fleet.results, "n3", "0000000b", at=time.time())
    fleet.slurm.resume("n3")
    ActLog(fleet.state).note("release", time.time(), "n3", reservation="nearfar-retest-1")
    assert [node.node for node in fleet.status.by_group["good"]] == ["n3"]


def test_a_retest_that_is_under_way(fleet: Fleet) -> None:
    fleet.slow("n3", 7200, 60)
    fleet.run("act")
    reason = fleet.slurm.node("n3").reason
    ActLog(fleet.state).note(
        "quarantine", time.time(), reservation="nearfar-retest-1", nodes={"n3": {"reason": reason}}
    )
    assert [node.node for node in fleet.status.by_group["returning"]] == ["n3"]


def test_one_that_has_passed_is_resumed_by_the_next_act(fleet: Fleet) -> None:
    fleet.slow("n3", 7200, 60)
    fleet.run("act")
    leave(fleet.results, "n3", "0000000b", at=time.time() + 60, job=None)
    (node,) = fleet.status.by_group["returning"]
    assert node.words == "the next act resumes it: host_device_check passed in run 0000000b"
    list(clear.clear(fleet.options, ["n3"], "x", fleet.slurm))  # type: ignore[arg-type]


def test_nodes_that_do_not_answer_are_not_good(fleet: Fleet) -> None:
    leave(fleet.results, "n1", "00000001", at=fleet.now - 60)
    fleet.slurm.states["n1"] = replace(fleet.slurm.node("n1"), flags=frozenset({"NOT_RESPONDING"}))
    assert [(node.node, node.words) for node in fleet.status.by_group["others"]] == [("n1", "IDLE+NOT_RESPONDING")]


def many(**groups: int) -> FleetStatus:
    """A fleet of so many nodes of each group; each says something of its own."""
    nodes, number = [], 0
    for group, count in groups.items():
        for _ in range(count):
            number += 1
            found = f"FAIL host_device d2h g{number % 4} {20 + number / 100:.1f}<52.6 GB/s run={number:08x}"
            words = f"hard evidence; once it is repaired or checked: nearfar slurm clear n{number} --because WORDS"
            nodes.append(
                NodeStatus(f"n{number}", group, words, found, 1e9 + number, None, NodeState(f"n{number}", "IDLE"))
            )
    caps = [UsedCap(2, 8), UsedCap(1, 4, "gpu")]
    return FleetStatus("vm", 2e9, nodes, 2e9 - 200, None, caps, caps, 129600.0)


def test_a_thousand_nodes_fit_on_a_screen() -> None:
    lines = list(
        status_page.lines(many(waits=8, to_test=5, suspect=300, others=87, unjudged=50, not_measured=50, good=500))
    )
    assert len(lines) < 80 and max(map(len, lines)) < 160, len(lines)
    text = "\n".join(lines)
    assert all(f"{GROUPS[group]}" in text for group in ("waits", "suspect", "good"))
    assert "drained by us, waits for a person: 8" in text and text.count("nearfar slurm clear n") >= 8
    assert "(and alike on " in text, "three hundred suspects are a few lines"
    assert lines[-1].strip() == "n[501-1000]"
    assert "drains: 2 of 8 in all (partition gpu: 1 of 4)" in lines[1]
    assert "act ran 3 minutes ago" in lines[0]


def test_a_long_list_does_not_touch_what_is_said_of_it() -> None:
    nodes = [NodeStatus(f"n{n}00", "suspect", "slow") for n in range(1, 9, 2)]
    text = list(status_page.lines(FleetStatus("vm", 2e9, nodes, None, None, [UsedCap(0, 8)], [UsedCap(0, 2)], 1.0)))
    assert text[-1] == "  n[100,300,500,700] slow"


def test_nodes_all_unlike_are_cut(fleet: Fleet) -> None:
    nodes = [NodeStatus(f"x{n}y{n * n}", "suspect", f"{'abcdefghij'[n % 10] * (n + 1)} is wrong") for n in range(500)]
    text = list(status_page.lines(FleetStatus("vm", 2e9, nodes, None, None, [UsedCap(0, 8)], [UsedCap(0, 2)], 1.0)))
    assert len(text) < 25 and "and 488 more: " in "\n".join(text) and "--json" in text[-1]


def test_the_document_is_the_one_that_is_documented(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    filled(fleet)
    assert fleet.run("act") == 0
    capsys.readouterr()
    assert fleet.run("status", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "nearfar-slurm-status/1"
    assert document["trouble"] is None and document["groups"]["good"] == {
        "title": "good",
        "count": 2,
        "nodes": "n[1,10]",
    }
    n3 = next(node for node in document["nodes"] if node["node"] == "n3")
    assert n3["group"] == "to_test" and n3["reason_by"] == "nearfar" and n3["since"].endswith("Z")
    assert fleet.run("status", "n3", "--json") == 3
    assert [node["node"] for node in json.loads(capsys.readouterr().out)["nodes"]] == ["n3"]
    page = (CHECKOUT / "docs/reference/slurm-status.md").read_text()
    keys = {*document, *document["drains"], *document["drains"]["in_all"][0], *document["groups"]["good"], *n3, *GROUPS}
    assert not [key for key in sorted(keys) if f"`{key}`" not in page]
