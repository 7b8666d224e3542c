"""slurmctld does not answer: what the log and the results say is shown, and what only Slurm knows is said not to be known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge
from nearfar.slurm.status.node_group import BY_SLURM, GROUPS
from tests.slurm.status.test_status import Fleet, filled
from tests.support.node_results import leave

TROUBLE = "scontrol show nodes: no answer within 30 s; is slurmctld well?"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet(tmp_path, monkeypatch)
    filled(made)
    leave(made.results, "n10", "00000110", at=made.now - 30, check="peer_check", wrong="wrong data")
    made.run("act")

    def silent() -> None:
        raise CouldNotJudge(TROUBLE)

    monkeypatch.setattr(made.slurm, "nodes", silent)
    return made


def test_the_screen(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path.name for path in fleet.state.iterdir())
    capsys.readouterr()
    assert fleet.run("status") == 3
    captured = capsys.readouterr()
    said = captured.out
    assert captured.err == "" and f"\nSlurm could not be asked: {TROUBLE}\n" in said
    for group in BY_SLURM:
        assert f"\n{GROUPS[group]}: not known: slurmctld does not answer\n" in said
    assert f"\n{GROUPS['unknown']}: 3\n" in said and "drained by us, as the log has it" in said
    assert "\ngood: 1\n  n1\n" in said and "could not be judged: 1\n" in said
    assert sorted(path.name for path in fleet.state.iterdir()) == before, "nothing is written"


def test_the_document(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert fleet.run("status", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["trouble"], document["waits"]) == (TROUBLE, True)
    assert {group for group, entry in document["groups"].items() if entry["count"] is None} == set(BY_SLURM)
    assert document["groups"]["unknown"]["nodes"] == "n[2-3,10]"
    assert {node["state"] for node in document["nodes"]} == {None}


def test_one_node(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert fleet.run("status", "n[2,5]") == 3
    captured = capsys.readouterr()
    assert captured.err == f"nearfar: {TROUBLE}\n"
    assert captured.out.count("  state     not known: slurmctld does not answer\n") == 2
    assert "for host_device_check (hard evidence)" in captured.out and "the GPU is busy" in captured.out
    assert fleet.run("status", "n77") == 3
    assert "n77: the log and the results know nothing of it, and slurmctld does not answer" in capsys.readouterr().err


def test_a_log_that_cannot_be_read_is_still_one_line(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet.state / "log.jsonl").write_text("no line of it\n")
    capsys.readouterr()
    assert fleet.run("status") == 3
    captured = capsys.readouterr()
    assert captured.out == "" and "log.jsonl:1: not a line of this log" in captured.err
