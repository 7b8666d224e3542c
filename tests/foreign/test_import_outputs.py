"""``nearfar import`` of other tools' output: figures, verdict, page, and what such a run never does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, foreign, history
from nearfar.base import CouldNotJudge
from nearfar.run import validation
from nearfar.slurm.results import RunInfo, publish_result
from tests.conftest import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "foreign"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def in_state(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(state))


@pytest.fixture(scope="module")
def run(state: Path) -> Path:
    """The run of a node of which one GPU is slow one way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEARFAR_STATE", str(state))
        return imported("nvbandwidth.txt")


def imported(*names: str, **options: Any) -> Path:
    """The run of files of ``DATA``."""
    return foreign.import_outputs([DATA / name for name in names], **options).folder


def results(run: Path) -> dict[str, Any]:
    """The results of the whole document, by cell."""
    return {each["cell"]: each for each in json.loads((run / foreign.DOCUMENT).read_text())["results"]}


def figures(run: Path) -> dict[str, float]:
    """The rate, or the total, of each cell."""
    return {cell: each.get("total", each["flows"][0]["rate"])["median"] for cell, each in results(run).items()}


def reasons(run: Path) -> str:
    """What the run's checks say besides figures."""
    return "\n".join(
        finding["reason"]
        for path in sorted(run.glob("*/*/verdict.json"))
        for finding in json.loads(path.read_text())["findings"]
    )


def test_one_document_has_tool_and_version(run: Path) -> None:
    raw = json.loads((run / foreign.DOCUMENT).read_text())
    assert raw["kind"] == "foreign" and raw["program"] == {
        "name": "nvbandwidth", "version": "0.8", "command": ["nvbandwidth"],
    }  # fmt: skip
    assert raw["node"]["hostname"] == "node17" and len(raw["node"]["gpus"]) == 8
    found = figures(run)
    assert found["g5:n0"] == 27.4 and found["n0:g5"] > 55 and len(found) == 16 + 56 + 56 + 28 + 1 + 8
    both = results(run)["g0:g1+g1:g0"]
    assert both["total"]["n"] == 2 and both["flows"][0]["rate"]["median"] == both["total"]["median"] / 2


def test_the_run_finds_the_slow_gpu_and_says_whose_figures_they_are(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["import", str(DATA / "nvbandwidth.txt")]) == 1
    said = capsys.readouterr().out
    assert "FAIL" in said and "g5.d2h" in said and "tune" not in said
    assert said.count("These figures come from nvbandwidth 0.8, not from nearfar.") == 1
    page = (run / "index.html").read_text(encoding="utf-8")
    assert page.count("not from nearfar") == 1 and "counts one of the two directions" in page


def test_it_enters_no_history(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    assert not list(history.record(run, tmp_path).rglob("*.parquet"))
    validation.remember(run)
    assert not (tmp_path / "history").exists()


def test_it_drains_nobody(run: Path, tmp_path: Path) -> None:
    node = json.loads((run / "report.json").read_text())["nodes"][0]
    assert node["kind"] == "foreign" and node["verdict"] == "FAIL"
    times = {"started": "2026-11-20T09:00:00Z", "ended": "2026-11-20T09:10:00Z"}
    info = RunInfo(nodes=("node17",), hostname="node17", level="nightly", sweep=None, **times)
    with pytest.raises(CouldNotJudge, match="nothing was measured on node17; nothing is handed over"):
        publish_result.leave(run, tmp_path, info)


def test_no_reference_is_tuned_from_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", str(DATA / "nvbandwidth.txt"), "--system", "h200-x2-vm"]) == 2
    assert "judge no other tool's figures" in capsys.readouterr().err
    assert cli.main(["tune", "--system", foreign.SYSTEM]) == 2
