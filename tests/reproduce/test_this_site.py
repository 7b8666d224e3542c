"""This site's column: the same cells on a node of the paper's kind, paths of the same sort on another, and why there is none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import validator
from tests.data.runs import h200
from tests.reproduce import made_runs

#: Of Keeneland's kind; what comes back from the other package to GPU 0 loses more.
SLOW = {"g0:n1": 0.5}


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_runs.write(tmp_path_factory.mktemp("alike"), "keeneland", SLOW)


@pytest.fixture(scope="module")
def four_h200s(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run on four GPUs of one NUMA node."""
    return h200._run("h200-vm", h200.RUNS["h200-vm"][-1], tmp_path_factory.mktemp("h200"))


def rows(capsys: pytest.CaptureFixture[str], paper: str, run: Path) -> dict[int, dict[str, Any]]:
    assert cli.main(["reproduce", paper, "--run", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not list(validator("reproduce-1").iter_errors(found))
    return {row["id"]: row for row in found["rows"]}


def figures(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in row["figures"]}


def test_the_same_cells_on_a_node_of_the_papers_kind(alike: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(rows(capsys, "hamilton-sl390", alike)[55])
    near = found["H2D, on-socket"]
    assert (near["measured"], near["of"], near["compared"], near["words"]) == (5.7, "n0→g0", True, "as published")
    far = found["D2H, off-socket"]
    assert far["measured"] == pytest.approx(2.17) and far["difference"] == pytest.approx(-0.5)
    assert far["words"] == "0.50 times the paper's"


def test_a_loss_beside_the_papers(alike: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = figures(rows(capsys, "spafford2011", alike)[5])
    assert found["H2D, off-socket"]["measured"] == pytest.approx((1 - 4.9 / 5.7) * 100)
    assert found["D2H, off-socket"]["measured"] == pytest.approx((1 - 2.17 / 6.3) * 100)
    assert found["D2H, off-socket"]["words"] == "35 points more: 2.1 times the paper's"
    # The model's loss is made of figures that it was made from.
    assert found["D2H, off-socket"]["modelled"] == pytest.approx(31.1, abs=0.1)
    assert found["D2H, off-socket"]["basis"] == "of inputs"


def test_paths_of_the_same_sort_on_another_node(four_h200s: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "joubert2019", four_h200s)
    single, ranks, peers = (figures(found[number]) for number in (44, 45, 47))
    near = single["H2D, GPU 0"]
    assert near["measured"] == pytest.approx(55.5, abs=0.2) and near["of"] == "median of 4 cells like n0→g0"
    assert (near["compared"], near["difference"]) == (False, None)
    assert single["H2D, GPU 3"]["because"] == "this node has one NUMA node: nothing is off-socket"
    # As many GPUs at once, spread over as many packages as this node has.
    assert ranks["H2D, 4 ranks"]["measured"] == pytest.approx(179.3, abs=0.2)
    assert ranks["H2D, 5 ranks"]["because"] == "this node has 4 GPUs"
    assert peers["direct, one way, package 0"]["measured"] > 390
    assert peers["staged, one way, package 0"]["measured"] < 40
    assert peers["direct, one way, across"]["measured"] is None


def test_a_part_of_a_row_that_was_not_measured_says_why(four_h200s: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "meredith2012", "--run", str(four_h200s)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("memory of the GPU" in line and "this run did not ask gpu_memory_check" in line for line in lines)


def test_rows_without_figures_say_what_their_checks_found(four_h200s: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "spafford2011", four_h200s)
    assert found[2]["site_says"].startswith("1 package, 1 NUMA node; 4 × NVIDIA H200, PCIe 5 ×16")
    assert [check["check"] for check in found[20]["checks"]] == ["sharing_check"]
    assert found[12]["because"] == "this run did not ask contention_check"
    assert found[19]["model_says"].startswith("dl160, n0→g0 + n0→g1: 8.00 GB/s, upper bound")
    assert found[22]["site_says"].startswith("g0: CPUs 0-15, memory n0; g1: CPUs 16-31")
    assert found[10]["because"] == "this run did not ask binding_check"


def test_every_figure_has_a_value_or_a_reason(four_h200s: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for paper in ("hamilton-sl390", "joubert2019", "meredith2012", "pop-gpu-affinity", "spafford2011"):
        for row in rows(capsys, paper, four_h200s).values():
            asked = [figure for figure in row["figures"] if figure["cell"] or figure["metric"]]
            assert all(figure["measured"] is not None or figure["because"] for figure in asked), row
            # Nothing is silently absent: a figure, a check's line, a command's answer, or a reason.
            answers = [row[key] for key in ("checks", "site_says", "model_says", "because")]
            assert any(answers) or any(figure["measured"] is not None for figure in asked), row


def test_a_node_without_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made_runs.write(tmp_path / "run", "jaguarpf", checks=["host_memory_check"])
    found = rows(capsys, "spafford2011", run)
    assert found[5]["because"] == "this node has no GPU"
    assert found[22]["site_says"] == "no GPU: there is no rank to put beside one"
    found = rows(capsys, "joubert2019", run)
    assert {figure["because"] for figure in found[44]["figures"]} == {"this node has no GPU"}
    stream = {figure["name"]: figure["measured"] for figure in found[54]["figures"]}
    assert stream["Titan, triad, NUMA node 0"] == 9.5 and stream["JaguarPF, triad (about)"] == 19


def test_metrics_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made_runs.write(tmp_path / "run", "keeneland", checks=["sharing_check"])
    found = figures(rows(capsys, "spafford2011", run)[15])["worst of four tasks a GPU"]
    assert found["measured"] > 1 and found["words"].endswith("times the paper's")


def test_damaged_runs(alike: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(alike, damaged)
    verdict = damaged / "kid107/host_device_check/verdict.json"
    verdict.write_text(verdict.read_text()[:500])
    assert cli.main(["reproduce", "spafford2011", "--run", str(damaged)]) == 2
    err = capsys.readouterr().err
    assert "host_device_check/verdict.json:" in err and "not a whole JSON document" in err and err.count("\n") == 1
    verdict.unlink()
    assert rows(capsys, "spafford2011", damaged)[5]["because"] == "host_device_check left no verdict: it did not finish"


def test_percent_of_peak_where_the_memory_is_known(
    four_h200s: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    titan = figures(rows(capsys, "joubert2019", made_runs.write(tmp_path, "titan", {}, ["host_memory_check"]))[41])
    assert titan["Titan"]["measured"] == pytest.approx(100 * (16.8992 + 16.7972) / 51.2, abs=0.1)
    unknown = figures(rows(capsys, "joubert2019", four_h200s)[41])["Summit"]
    assert unknown["measured"] is None and "carries at most is not known" in unknown["because"]
