"""``--metrics`` of the commands that measure: the file is written beside what they do, and changes nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.run import validation
from nearfar.slurm.sweep import node_run, slurm_jobs
from tests.prometheus import made_runs


@pytest.fixture
def textfiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NEARFAR_METRICS", raising=False)
    (tmp_path / "textfiles").mkdir()
    return tmp_path / "textfiles"


def test_a_run_by_hand(
    tmp_path: Path, textfiles: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made_runs.run(tmp_path / "run")
    monkeypatch.setattr(validation, "run", lambda request: (1, run))
    monkeypatch.setattr(validation, "headline", lambda folder, every: "ten lines")
    assert cli.main(["validate"]) == 1 and not list(textfiles.iterdir())
    assert cli.main(["validate", "--metrics", str(textfiles)]) == 1
    assert (
        'nearfar_run_verdict{node="n1",system="vm",verdict="FAIL"} 1.0' in (textfiles / "nearfar-run.prom").read_text()
    )
    capsys.readouterr()
    monkeypatch.setenv("NEARFAR_METRICS", str(tmp_path / "none"))
    assert cli.main(["validate"]) == 1
    said = capsys.readouterr()
    assert said.out == "ten lines\n" and "nearfar: metrics: " in said.err and "no such directory" in said.err


def test_a_job_of_a_sweep(tmp_path: Path, textfiles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_runs.run(tmp_path / "run")
    (run / "result.json").write_text(json.dumps({"node": "gpu-001", "pack": "nightly"}))
    monkeypatch.setattr(node_run, "run", lambda *words: run)
    monkeypatch.setenv("NEARFAR_METRICS", str(textfiles))
    command = ["slurm", "node", "--results", str(tmp_path), "--sweep", "s", "--node"]
    assert cli.main([*command, "gpu-001+gpu-002"]) == 0 and not list(textfiles.iterdir()), (
        "what a pair measured is no node's"
    )
    assert cli.main([*command, "gpu-001"]) == 0
    assert 'level="nightly",node="gpu-001",system="vm"' in (textfiles / "nearfar-run.prom").read_text()


def test_jobs_are_told_the_directory(tmp_path: Path) -> None:
    given = {"NEARFAR_PROGRAMS": str(tmp_path), "NEARFAR_METRICS": "/var/lib/textfiles"}
    assert slurm_jobs.environment(given)["NEARFAR_METRICS"] == "/var/lib/textfiles"
