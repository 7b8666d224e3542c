"""A paper beside a run of this site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nearfar import cli
from tests.data.runs import h200, modelled
from tests.reproduce import made_runs


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run on four H200s."""
    return h200._run("h200-vm", h200.RUNS["h200-vm"][-1], tmp_path_factory.mktemp("h200"))


def test_this_sites_column_is_what_the_run_measured(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "joubert2019", "--run", str(measured), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    single = next(row for row in found["rows"] if row["id"] == 44)
    figures = {figure["cell"]: figure for figure in single["figures"]}
    assert figures["n0:g0"]["measured"] == pytest.approx(55.5, abs=0.2)
    # Four GPUs: the paper's fifth is not there. Other GPUs than the paper's are not compared with it.
    assert figures["n0:g4"]["measured"] is None and figures["n0:g0"]["difference"] is None
    assert cli.main(["reproduce", "joubert2019", "--run", str(measured)]) == 0
    assert "it is a different kind of node than the paper's" in capsys.readouterr().out


def test_runs_that_have_no_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "joubert2019", "--run", str(tmp_path)]) == 2
    assert "run.json: not there" in capsys.readouterr().err
    run = modelled.write(tmp_path / "run", "titan")
    assert cli.main(["reproduce", "joubert2019", "--run", str(run)]) == 2
    assert "nothing was measured in this run" in capsys.readouterr().err
    assert cli.main(["reproduce", "--list", "--run", str(run)]) == 2
    assert "--run goes with a paper" in capsys.readouterr().err


def test_a_run_of_several_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made_runs.write(tmp_path / "run", "keeneland")
    shutil.copytree(run / "kid107", run / "kid108")
    verdict = run / "kid108/host_device_check/verdict.json"
    verdict.write_text(verdict.read_text().replace('"kid107"', '"kid108"'))
    assert cli.main(["reproduce", "joubert2019", "--run", str(run)]) == 2
    assert "has 2 nodes (kid107, kid108); name the run of one" in capsys.readouterr().err
