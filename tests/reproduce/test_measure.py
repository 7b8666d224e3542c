"""``--measure``: the checks that a paper needs, as a run of this machine; what it cannot answer is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.question import named
from nearfar.run import some_checks
from nearfar.site import systems
from tests.checks.test_checks import programs
from tests.conftest import CHECKOUT

SITE = """\
system: fake
partitions:
  - {name: a, node_type: keeneland, features: [gpu], env_vars: {FAKE_CASE: good}}
"""


def test_a_paper_is_measured_stored_and_shown(tmp_path: Path) -> None:
    (tmp_path / "site/systems").mkdir(parents=True)
    (tmp_path / "site/systems/fake.yaml").write_text(SITE)
    programs(tmp_path / "bin")
    # A paper of one row, so that one check runs; the fake program answers for Keeneland's node.
    (tmp_path / "site/published").mkdir()
    command = "nearfar validate --check host_device_check contention_check"
    row = f"{{id: 900, place: t, kind: measured, what: w, unit: GB/s, values: [5.7], cells: ['n0:g0'], command: {command}}}"
    (tmp_path / "site/published/mine.yaml").write_text(f"paper: mine\ntitle: Mine\nrows:\n  - {row}\n")
    given = {
        "NEARFAR_SITE": f"{tmp_path / 'site'}:{CHECKOUT / 'site'}", "NEARFAR_STATE": str(tmp_path / "state"),
        "NEARFAR_PROGRAMS": str(tmp_path / "bin"), "PYTHONPATH": str(CHECKOUT),
    }  # fmt: skip
    words = [sys.executable, "-m", "nearfar", "reproduce", "mine", "--measure", "--system", "fake", "--json"]
    done = subprocess.run(words, env={**os.environ, **given}, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    (run,) = (tmp_path / "state/reports/fake").glob("2*")
    assert done.returncode == json.loads((run / "run.json").read_text())["exit_code"], done.stderr
    assert "not run: contention_check: this machine has no MPI" in done.stderr
    assert "1 check: host_device_check; no earlier run here shows how long they take" in done.stderr
    found = json.loads(done.stdout)
    assert found["run"] == str(run) and found["rows"][0]["checks"][0]["check"] == "host_device_check"
    assert (run / "index.html").exists() and "Mine" in (run / "reproduce-mine.html").read_text()


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> systems.System:
    """A machine without GPUs and MPI."""
    return systems.local_system(False, {})


def test_what_a_machine_lacks_is_said_in_its_words(bare: systems.System) -> None:
    assert some_checks.cannot(named("host_memory_check"), bare) == ""
    assert some_checks.cannot(named("host_device_check"), bare) == "this machine has no GPU"
    assert some_checks.cannot(named("osu_check"), bare).startswith("this machine has no OSU benchmarks")
    # A modelled node answers nothing: with GPUs alone MPI is what lacks.
    assert some_checks.cannot(named("contention_check"), systems.local_system(True, {})) == "this machine has no MPI"


def test_nothing_that_could_be_measured(bare: systems.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(some_checks.validation, "chosen_system", lambda request: bare)
    with pytest.raises(
        some_checks.CouldNotJudge, match="nothing of what is asked for can be measured here: this machine has no GPU"
    ):
        some_checks.run(["host_device_check"], None, None, None, ("nearfar",))


def test_the_time_of_the_last_runs_is_said(
    bare: systems.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path))
    for name, seconds in (("20261101T000000", 50), ("20261102T000000", 30)):
        folder = tmp_path / "reports/local" / name
        folder.mkdir(parents=True)
        ran = [{"check": "host_memory_check", "result": "pass", "seconds": seconds}]
        (folder / "run.json").write_text(json.dumps({"ran_cases": ran}))
    (tmp_path / "reports/local/20261103T000000").mkdir()
    (tmp_path / "reports/local/20261103T000000/run.json").write_text("{")
    monkeypatch.setattr(some_checks.validation, "chosen_system", lambda request: bare)
    monkeypatch.setattr(some_checks.validation, "run", lambda request: (0, tmp_path))
    assert some_checks.run(["host_memory_check", "topology_check"], None, None, None, ("nearfar",)) == (0, tmp_path)
    said = "2 checks: host_memory_check, topology_check; about 30 s, as when they last ran here; of 1 check it is not known"
    assert said in capsys.readouterr().err


def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["spafford2011", "--run", "x", "--measure"], "name one of the two"),
        (["spafford2011", "--system", "mine"], "--system goes with --measure"),
        (["spafford2011", "--report-dir", "x"], "--report-dir goes with --measure"),
        (["--list", "--measure"], "--measure goes with a paper"),
        (["--list", "--page", "x.html"], "--page goes with a paper"),
    ):
        assert cli.main(["reproduce", *words]) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1
