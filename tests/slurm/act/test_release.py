"""``nearfar slurm release`` and ``clear`` on a real Slurm: a person's word, and nobody else's drains."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.acting import Site, instead_of_scontrol
from tests.support.node_results import leave

pytestmark = pytest.mark.slurm


def drained(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """n2 for speed, n3 for hard evidence, n4 by somebody else; n1 is well."""
    site.private.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=bad DIMM"])
    leave(site.results, "n1", "00000001", at=site.now - 60)
    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0 and site.node("n2").drain and site.node("n3").drain
    capsys.readouterr()


def test_what_we_drained_is_released_and_what_others_drained_is_not(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    drained(site, capsys)
    assert site.run("release", "n[1-4]", "--because", "the user needs them") == 3
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["n1"] == "in use        nothing had to be done: it is not drained"
    assert lines["n2"].startswith(
        "released      in use again; it was drained with 'nearfar: FAIL host_device d2h g2 27.1<52.6"
    )
    assert lines["n4"].startswith("not released  it is IDLE+DRAIN with 'bad DIMM' by ")
    assert lines["n4"].endswith("left alone; if that is over: scontrol update nodename=n4 state=resume")
    assert [site.node(name).drain for name in ("n1", "n2", "n3", "n4")] == [False, False, False, True]
    done = [json.loads(line) for line in (site.state / "log.jsonl").read_text().splitlines()]
    words = [(line["node"], line["outcome"], line.get("why")) for line in done if line["action"] == "release"]
    why = "the user needs them"
    assert words == [("n2", "begun", why), ("n2", "done", None), ("n3", "begun", why), ("n3", "done", None)]

    assert site.act() == 0, "slow figures and hard evidence from before count no more"
    assert not site.node("n2").drain and not site.node("n3").drain
    assert site.run("release", "n[2-3]", "--because", "again") == 0, "twice is once"
    leave(site.results, "n3", "00000104", at=time.time() + 1, wrong="wrong data")
    assert site.act() == 0 and site.node("n3").drain, "what is found from now on counts"


def test_a_list_is_looked_at_before_anything_is_done(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    drained(site, capsys)
    before = site.log()
    for command in ("release", "clear"):
        for nodes, said in (
            ("n[2-3],n[98-99]", "n[98-99]: Slurm has no such node"), ("n2;reboot", "not a node list"), ("", "names no node"),
        ):  # fmt: skip
            assert site.run(command, nodes, "--because", "x") == 2
            assert said in capsys.readouterr().err
        assert site.run(command, "n2") == 2 and "say why, for the log: --because WORDS" in capsys.readouterr().err
        assert site.run(command, "n2", "--because", " ") == 2
    assert site.log() == before and site.node("n2").drain


def test_clear_of_many_nodes(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    drained(site, capsys)
    assert site.run("clear", "n[1,3]", "--because", "GPU 2\nreplaced") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("n1           written down  no hard finding of it was open")
    assert second.endswith("it is resumed once the check that drained it has passed: nearfar slurm retest n3")
    said = [json.loads(line) for line in (site.state / "log.jsonl").read_text().splitlines()]
    assert [line["why"] for line in said if line["action"] == "clear"] == ["GPU 2 replaced"] * 2
    assert site.node("n3").drain


def test_a_reason_that_was_changed_meanwhile(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the first look at all nodes and the one just before the write somebody has put his own words there."""
    drained(site, capsys)
    scontrol, sinfo = (shutil.which(name, path=site.private.environment["PATH"]) for name in ("scontrol", "sinfo"))
    folder = tmp_path / "bin"
    folder.mkdir()
    other = f"{scontrol} update nodename=n2 state=drain 'reason=power supply'"
    script = f'#!/bin/sh\ncase "$*" in *"--nodes=n2"*) {other} ;; esac\nexec {sinfo} "$@"\n'
    (folder / "sinfo").write_text(script)
    (folder / "sinfo").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{site.private.environment['PATH']}")
        assert site.run("release", "n2", "--because", "x") == 3
    assert "not released  its reason has changed to 'power supply'" in capsys.readouterr().out
    assert site.node("n2").drain and ("release", "refused", "n2") in site.log()


@pytest.mark.parametrize("update", ["kill -9 $PPID; exit 1", '"$REAL" "$@"; kill -9 $PPID; exit 1'],
                         ids=["killed before the write", "killed after the write"])  # fmt: skip
def test_a_killed_release_is_done_again(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], update: str
) -> None:
    drained(site, capsys)
    words = [
        sys.executable, "-m", "nearfar", "slurm", "release", "n3", f"--state={site.state}", f"--results={site.results}",
        "--because=x",
    ]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setenv("REAL", str(shutil.which("scontrol", path=site.private.environment["PATH"])))
        instead_of_scontrol(site, tmp_path / "bin", patch, update)
        assert subprocess.run(words, capture_output=True, check=False).returncode == -signal.SIGKILL
    assert site.run("release", "n3", "--because", "x") == 0
    assert site.act() == 0 and not site.node("n3").drain, "its evidence is closed"


def test_without_slurmctld(site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    drained(site, capsys)
    before = site.log()
    site.private.stop_controller()
    try:
        for command in ("release", "clear"):
            assert site.run(command, "n[2-3]", "--because", "x") == 3
            assert "scontrol" in capsys.readouterr().err
    finally:
        site.private.start_controller()
        site.slurm.wait("n2", lambda node: node.base == "IDLE" and "NOT_RESPONDING" not in node.flags, 30)
    assert site.log() == before


def test_without_rights(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drained(site, capsys)
    instead_of_scontrol(site, tmp_path / "bin", monkeypatch, 'echo "slurm_update error: Invalid user id" >&2; exit 1')
    assert site.run("release", "n[2-3]", "--because", "x") == 2
    said = capsys.readouterr().err
    assert "this needs Slurm's operator rights" in said and "not released: n[2-3]" in said and said.count("\n") == 1
