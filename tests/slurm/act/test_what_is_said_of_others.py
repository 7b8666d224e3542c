"""What ``clear``, ``release`` and ``log`` say of drains that are somebody else's, and of nodes that nothing had to be done about."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.slurm.status.test_status import Fleet
from tests.support.node_results import leave


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def said(fleet: Fleet, capsys: pytest.CaptureFixture[str], command: str, node: str) -> str:
    capsys.readouterr()
    fleet.run(command, node, "--because", "x")
    return capsys.readouterr().out.rstrip("\n")


def test_clear_says_whose_drain_stays(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.slurm.drain("n2", "bad DIMM,\n ticket 12")
    words = said(fleet, capsys, "clear", "n2")
    assert words.startswith("n2           written down  no hard finding of it was open")
    assert "; it stays IDLE+DRAIN by alice with 'bad DIMM, ticket 12': not drained by act; " in words
    assert words.endswith("when they have done: scontrol update nodename=n2 state=resume")
    assert fleet.slurm.node("n2").drain
    fleet.slurm.states["n3"] = replace(fleet.slurm.node("n3"), base="DOWN")
    assert said(fleet, capsys, "clear", "n3").endswith("it stays DOWN: not drained by act")
    assert "it stays" not in said(fleet, capsys, "clear", "n4")


def test_release_of_a_node_in_use_releases_nothing(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        said(fleet, capsys, "release", "n5") == "n5           in use        nothing had to be done: it is not drained"
    )
    fleet.slow("n2", 7200, 60)
    fleet.run("act")
    assert said(fleet, capsys, "release", "n2").startswith("n2           released      in use again; ")
    assert said(fleet, capsys, "release", "n2").startswith("n2           in use        nothing had to be done")
    fleet.slow("n3", 7200, 60)
    fleet.run("act")
    fleet.slurm.resume("n3")
    assert "what was found of it until now is closed" in said(fleet, capsys, "release", "n3")


def test_the_log_names_who_else_drained(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.slurm.drain("n2", "bad DIMM")
    leave(fleet.results, "n2", "00000102", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    capsys.readouterr()
    fleet.run("log", "n2")
    assert "  drained by others alice        bad DIMM" in capsys.readouterr().out
    fleet.run("log", "n2", "--json")
    last = json.loads(capsys.readouterr().out)["events"][-1]
    assert (last["what"], last["by"], last["nodes"]) == ("drained by others", "alice", "n2")


def test_a_persons_word_is_one_line_of_printable_letters(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.run("clear", "n2", "--because", "\x1b[2J'GPU'\n\"2\"\u202e replaced\r")
    fleet.run("log", "n2")
    shown = capsys.readouterr().out
    assert "\\x1b[2J'GPU' \"2\"\\u202e replaced" in shown and shown.replace("\n", "").isprintable()
