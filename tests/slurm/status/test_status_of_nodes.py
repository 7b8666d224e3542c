"""``status`` of nodes that are named, and what it says of one that could not be judged or was cleared."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import pytest

from nearfar.site import Policy
from nearfar.slurm.act import ActView, decide
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import CheckRun, LogSummary
from nearfar.slurm.status import node_group
from tests.slurm.status.test_status import Fleet, filled
from tests.support.node_results import leave


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def test_a_list_of_nodes_is_a_block_each(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    filled(fleet)
    fleet.run("act")
    capsys.readouterr()
    assert fleet.run("status", "n[1-2,12]") == 3, "one of them waits"
    blocks = capsys.readouterr().out.split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == ["n1", "n2", "n12"], (
        "also one that the site's file does not name"
    )
    assert fleet.run("status", "n[1,10]") == 0
    capsys.readouterr()
    assert fleet.run("status", "n[1-2]", "--json") == 3
    assert [node["node"] for node in json.loads(capsys.readouterr().out)["nodes"]] == ["n1", "n2"]
    assert fleet.run("status", "n[1,99]") == 2
    assert capsys.readouterr().err == "nearfar: Slurm has no node n99, and no result is of it\n"
    assert fleet.run("status", "n[1-") == 2 and "not a node list" not in capsys.readouterr().out


def test_why_it_could_not_be_judged_and_the_file(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    place = leave(fleet.results, "n5", "00000005", at=fleet.now - 60, speed=None, indeterminate="the GPU is busy")
    [node] = fleet.status.by_group["unjudged"]
    assert node.words == "host_device_check: the GPU is busy"
    fleet.run("status", "n5")
    said = capsys.readouterr().out
    files = [Path(line.strip()) for line in said.splitlines() if line.endswith("verdict.json")]
    assert len(files) == 1 and files[0].is_file() and place in files[0].parents
    assert said.endswith("  now       could not be judged\n            host_device_check: the GPU is busy\n")


def test_cases_that_did_not_run_are_said_and_over_with_the_next_run(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = leave(fleet.results, "n5", "00000005", at=fleet.now - 60)
    path = place / "result.json"
    raw = json.loads(path.read_text())
    raw |= {"missing": ["peer_check: nvcc is not installed", "x: y"], "verdict": "INDETERMINATE"}
    path.write_text(json.dumps(raw))
    [node] = fleet.status.by_group["unjudged"]
    assert node.words == "the run: peer_check: nvcc is not installed (and 1 case more)"
    fleet.run("status", "n5")
    assert f"{path}\n" in capsys.readouterr().out
    leave(fleet.results, "n5", "00000006", at=time.time())
    assert [node.node for node in fleet.status.by_group["good"]] == ["n5"]


def test_a_look_that_was_answered_is_over_with_the_next_sweep() -> None:
    """A look that is as before is not written again: nothing newer comes of it."""
    now, after = 1e9, 1e9 - 500
    look = CheckRun("n1", "health", "l", now - 1000, now - 1000, "FAIL")
    ran = CheckRun("n1", "host_device_check", "r", now - 100, now - 100, "PASS")

    def said(*runs: CheckRun) -> str:
        nodes, past = {"n1": NodeState("n1", "IDLE")}, LogSummary(since={"n1": after})
        seen = ActView(nodes, past, (), decide.decide(runs, nodes, Policy("vm"), past, now), runs, now)
        return node_group.of_node("n1", None, {run.check: run for run in runs}, seen, 86400.0, None).group

    assert said(look, ran) == "good"
    assert said(look) == "not_measured"
    before = CheckRun("n1", "host_device_check", "r", now - 2000, now - 2000, "PASS")
    assert said(look, before) == "not_measured", "what it passed before it was found says nothing"
    retested = CheckRun("n1", "host_device_check", "r", now - 600, now - 600, "PASS")
    assert said(look, retested) == "good", "a retest comes before its release"
    slow = CheckRun("n1", "peer_check", "p", now - 900, now - 900, "FAIL")
    assert said(slow, ran) == "not_measured", "another check has not been run since"


def test_a_drain_by_others_with_an_open_finding(fleet: Fleet) -> None:
    fleet.slurm.drain("n4", "bad DIMM")
    leave(fleet.results, "n4", "00000104", at=fleet.now - 60, wrong="wrong data")
    [node] = fleet.status.by_group["others"]
    assert node.found == "IDLE+DRAIN 'bad DIMM' by alice; FAIL host_device g2:n0 cell.wrong_data run=00000104"
    assert node.words.startswith("it was drained by somebody else on ")


def test_two_tickets_are_never_one_line(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(1, 13):
        fleet.slurm.drain(f"n{number}", f"ticket {100 + min(number, 11)}, run=00000{number:03}")
        leave(fleet.results, f"n{number}", f"{number:08}", at=fleet.now - 60)
    fleet.slurm.drain("n12", "ticket 111, run=00000011")
    fleet.run("status")
    said = capsys.readouterr().out
    assert [f"'ticket {100 + number}, run=00000{number:03}'" in said for number in range(1, 12)] == [True] * 11
    assert "  n[11-12]      IDLE+DRAIN 'ticket 111" in said, "one ticket is one line"


def test_many_whose_reason_was_changed_keep_their_tickets(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(1, 13):
        leave(fleet.results, f"n{number}", f"{number:08}", at=fleet.now - 60)
        fleet.slurm.drain(f"n{number}", f"nearfar: ticket {number}")
    fleet.run("status")
    said = capsys.readouterr().out
    assert "(and alike on" not in said and said.count("its reason is now 'nearfar: ticket ") == 12


def test_long_words_end_at_a_semicolon(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("n1", "n2", "n3", "n5"):
        leave(fleet.results, name, f"0000010{name[1]}", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    capsys.readouterr()
    fleet.run("status")
    said = capsys.readouterr().out.splitlines()
    assert "                if the drained nodes are broken: nearfar slurm allow-drains --because WORDS" in said
    assert max(map(len, said)) <= 130


def test_a_command_for_many_nodes_is_one_that_can_be_pasted(
    fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is cut out of a folded line takes no quote with it."""
    system = tmp_path / "site/systems/vm.yaml"
    system.write_text(system.read_text().replace("  cap:\n", "  cap:\n    available: {share: 0.8}\n"))
    for number in range(4, 13):
        fleet.slurm.drain(f"n{number}", "moved")
    for name in ("n1", "n2"):
        leave(fleet.results, name, f"0000010{name[1]}", at=fleet.now - 60, wrong="wrong data")
    fleet.run("status")
    [line] = [line for line in capsys.readouterr().out.splitlines() if "to drain it anyway: " in line]
    words = shlex.split(line.partition("to drain it anyway: ")[2])
    assert words == ["scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=WORDS"]


def test_an_act_that_has_not_run_for_days(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    leave(fleet.results, "n1", "00000001", at=fleet.now - 60)
    fleet.run("act")
    capsys.readouterr()
    fleet.run("status")
    assert "doctor" not in capsys.readouterr().out
    os.utime(fleet.state / "read.json", (fleet.now - 3 * 86400, fleet.now - 3 * 86400))
    fleet.run("status")
    assert "act ran 3 days ago: why? nearfar slurm doctor" in capsys.readouterr().out.splitlines()[0]
