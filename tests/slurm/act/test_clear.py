"""``nearfar slurm clear``: an administrator's word, and nobody else's drains."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.slurm.ledger import Ledger, actions
from tests.support.acting import Site, instead_of_scontrol
from tests.support.node_results import leave
from tests.support.played_fleet import PlayedFleet


def drained(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """n2 for speed, n3 for hard evidence, n4 by somebody else; n1 is well."""
    site.private.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=bad DIMM"])
    leave(site.results, "n1", "00000001", at=site.now - 60)
    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0 and site.drained() == ["n2", "n3", "n4"]
    capsys.readouterr()


@pytest.mark.slurm
def test_what_we_drained_is_in_use_and_what_others_drained_is_not(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    drained(site, capsys)
    assert site.run("clear", "n[1-4]", "--because", "GPU 2\n\x1b[2Jreplaced") == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["n1"] == "cleared       slow figures from before no longer count"
    assert lines["n2"].startswith("cleared       in use again; ") and "'nearfar: FAIL host_device d2h" in lines["n2"]
    assert "in use again; 1 hard finding closed; it was drained with" in lines["n3"]
    assert "; it stays IDLE+DRAIN, not drained by nearfar: 'bad DIMM'" in lines["n4"]
    assert site.drained() == ["n4"]
    with Ledger.open(site.state) as ledger:
        assert {each.why for each in actions.actions(ledger, 0.0, actions.CLEAR)} == {"GPU 2 \\x1b[2Jreplaced"}

    assert site.act() == 0 and site.drained() == ["n4"], "slow figures and hard evidence from before count no more"
    assert site.run("clear", "n[2-3]", "--because", "again") == 0, "twice is once"
    leave(site.results, "n3", "00000104", at=time.time() + 1, wrong="wrong data", took=0.0)
    assert site.act() == 0 and site.drained() == ["n3", "n4"], "what is found from now on counts"


@pytest.mark.slurm
def test_a_list_is_looked_at_before_anything_is_done(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    drained(site, capsys)
    before = site.log()
    for nodes, said in (
        ("n[2-3],n[98-99]", "n[98-99]: Slurm has no such node"), ("n2;reboot", "not a node list"), ("", "names no node"),
    ):  # fmt: skip
        assert site.run("clear", nodes, "--because", "x") == 2
        assert said in capsys.readouterr().err
    assert (
        site.run("clear", "n2") == 2 and "give the reason, for the ledger: --because WORDS" in capsys.readouterr().err
    )
    assert site.run("clear", "n2", "--because", " ") == 2
    assert site.log() == before and site.node("n2").drain


@pytest.mark.slurm
def test_what_was_held_by_the_cap_is_closed(site: Site) -> None:
    for node in range(1, 6):
        leave(site.results, f"n{node}", f"0000000{node}", at=site.now - 60, wrong="wrong data")
    assert site.act() == 3 and site.drained() == ["n1", "n2", "n3"]
    assert site.run("clear", "n[4-5]", "--because", "GPU 2 replaced") == 0
    assert site.act() == 0, "a repaired node is not drained, nor held"


@pytest.mark.slurm
def test_a_reason_that_was_changed_meanwhile(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the query for all nodes and the one just before the write somebody has put his own words there."""
    drained(site, capsys)
    scontrol = shutil.which("scontrol", path=site.private.environment["PATH"])
    folder = tmp_path / "bin"
    folder.mkdir()
    other = f"{scontrol} update nodename=n2 state=drain 'reason=power supply'"
    script = f'#!/bin/sh\ncase "$*" in *"show nodes n2"*) {other} ;; esac\nexec {scontrol} "$@"\n'
    (folder / "scontrol").write_text(script)
    (folder / "scontrol").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{site.private.environment['PATH']}")
        assert site.run("clear", "n2", "--because", "x") == 3
    assert "not cleared: its reason has changed to 'power supply'" in capsys.readouterr().out
    assert site.node("n2").drain and ("clear", "refused", "n2") in site.log()


@pytest.mark.slurm
@pytest.mark.parametrize("update", ["kill -9 $PPID; exit 1", '"$REAL" "$@"; kill -9 $PPID; exit 1'],
                         ids=["killed before the write", "killed after the write"])  # fmt: skip
def test_a_killed_clear_is_done_again(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], update: str
) -> None:
    drained(site, capsys)
    words = [
        sys.executable, "-m", "nearfar", "slurm", "clear", "n3", f"--state={site.state}", f"--results={site.results}", "--because=x",
    ]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setenv("REAL", str(shutil.which("scontrol", path=site.private.environment["PATH"])))
        instead_of_scontrol(site, tmp_path / "bin", patch, update)
        assert subprocess.run(words, capture_output=True, check=False).returncode == -signal.SIGKILL
    assert site.run("clear", "n3", "--because", "x") == 0
    assert site.act() == 0 and site.drained() == ["n2", "n4"], "its evidence is closed"


@pytest.mark.slurm
def test_without_slurmctld_and_without_rights(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drained(site, capsys)
    before = site.log()
    site.private.stop_controller()
    try:
        assert site.run("clear", "n[2-3]", "--because", "x") == 3 and "scontrol" in capsys.readouterr().err
    finally:
        site.private.start_controller()
        site.slurm.wait("n2", lambda node: node.base == "IDLE" and "NOT_RESPONDING" not in node.flags, 30)
    assert site.log() == before
    instead_of_scontrol(site, tmp_path / "bin", monkeypatch, 'echo "slurm_update error: Invalid user id" >&2; exit 1')
    assert site.run("clear", "n[2-3]", "--because", "x") == 2
    said = capsys.readouterr().err
    assert "this needs Slurm's operator rights" in said and "not cleared: n[2-3]" in said and said.count("\n") == 1


# A drain of ours in which others' words stand.


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    """n2 is drained by us."""
    fleet = PlayedFleet(tmp_path)
    fleet.slow_twice("n2")
    fleet.act()
    return fleet


def replaced(fleet: PlayedFleet, reason: str, base: str = "IDLE", *flags: str) -> None:
    state = fleet.node("n2")
    fleet.slurm.states["n2"] = replace(state, base=base, flags=state.flags | set(flags), reason=reason)


@pytest.mark.parametrize("reason", ["Not responding", "Node unexpectedly rebooted"])
@pytest.mark.parametrize("base", ["IDLE", "DOWN"])
def test_slurm_s_own_reason_in_its_place(fleet: PlayedFleet, reason: str, base: str) -> None:
    replaced(fleet, reason, base)
    assert fleet.states()["n2"] == "drained"
    assert fleet.clear("n2")[0].startswith("in use again") and fleet.node("n2").idle
    fleet.act()
    assert fleet.node("n2").idle, "what was found before counts no more"


@pytest.mark.parametrize("words", ["{} : reboot issued", "INC-4711 {}"])
def test_words_around_ours(fleet: PlayedFleet, words: str) -> None:
    """As ``scontrol reboot`` and ticket systems leave it."""
    replaced(fleet, words.format(fleet.node("n2").reason))
    fleet.act()
    assert fleet.states()["n2"] == "drained" and fleet.clear("n2")[0].startswith("in use again")


def test_one_that_does_not_answer_stays(fleet: PlayedFleet) -> None:
    replaced(fleet, "Not responding", "DOWN", "NOT_RESPONDING")
    assert fleet.clear("n2") == ["not cleared: it is DOWN+DRAIN+NOT_RESPONDING"] and fleet.node("n2").drain


def test_an_administrator_s_reason_in_its_place_is_the_administrator_s(fleet: PlayedFleet) -> None:
    replaced(fleet, "ticket 12")
    assert "it stays IDLE+DRAIN, not drained by nearfar: 'ticket 12'" in fleet.clear("n2")[0]
    assert fleet.node("n2").drain
