"""nearfar-copy --quick and --aggressor on real GPUs: as right as the usual run, and never reported as loaded when it was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.base.errors import NearfarError
from nearfar.commands.calibrate import refuse_loaded
from tests.programs.test_copy_gpu import MANY, copy
from tests.support.processes import tasks_of

pytestmark = pytest.mark.gpu

#: How much a quick median may differ from the usual one.
WITHIN = 0.05  # hosts of virtual machines are shared; on a quiet one both agree within 0.5 %


def medians(document: dict[str, Any]) -> dict[str, float]:
    return {result["cell"]: result["total"]["median"] for result in document["results"]}


@pytest.fixture(scope="module")
def quick(build_folder: Path) -> dict[str, Any]:
    began = time.monotonic()
    code, document, stderr = copy(build_folder, "--quick")
    document["wall"] = time.monotonic() - began
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    return document


def gpus(document: dict[str, Any]) -> int:
    return len(document["node"]["gpus"])


def pairs(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [result for result in document["results"] if result["cell"].startswith("g") and ":g" in result["cell"]]


def usual_medians(build: Path, cells: Sequence[str]) -> dict[str, float]:
    code, document, stderr = copy(build, *cells)
    assert code == 0, (document.get("failed"), stderr)
    return medians(document)


def test_a_quick_document_is_valid_and_says_that_it_is_quick(quick: dict[str, Any]) -> None:
    document = measurement.document.from_raw(quick, "nearfar-copy --quick")
    assert quick["program"]["quick"] is True
    count = gpus(quick)
    memory = sum(n["kind"] == "host" and n["memory"] > 0 for n in quick["node"]["numa_nodes"])
    unsupported = [entry for entry in quick["skipped"] if entry["code"] == "unsupported"]
    assert len(document.results) + len(unsupported) == 2 * count * memory + 2 * count * (count - 1)
    for result in quick["results"]:
        assert result["verified"], result["cell"]
        assert result.get("remeasured") or result["total"]["n"] == 4, f"{result['cell']}: more than the fewest samples"


def test_quick_medians_are_those_of_the_usual_run(quick: dict[str, Any], build_folder: Path) -> None:
    found = medians(quick)
    usual = usual_medians(build_folder, list(found))
    off = {cell: (found[cell], rate) for cell, rate in usual.items() if abs(found[cell] / rate - 1) > WITHIN}
    if off:  # a neighbour on the host, perhaps: both again
        again = medians(copy(build_folder, "--quick", *off)[1])
        usual = usual_medians(build_folder, list(off))
        off = {cell: (again[cell], rate) for cell, rate in usual.items() if abs(again[cell] / rate - 1) > WITHIN}
    assert not off, f"quick and usual medians, GB/s: {off}"


def test_disjoint_pairs_are_measured_together(quick: dict[str, Any]) -> None:
    if gpus(quick) < 4 or not quick["node"]["peers"]:
        pytest.skip("needs four GPUs with NVLink")
    together = [result for result in pairs(quick) if "beside" in result]
    assert len(together) + sum(result.get("remeasured", False) for result in pairs(quick)) == len(pairs(quick))
    for result in together:
        used = [end for flow in (result["cell"], *result["beside"]) for end in flow.split("@")[0].split(":")]
        assert len(used) == len(set(used)), f"{result['cell']} beside {result['beside']} share a GPU"


def test_the_whole_node_takes_less_than_five_seconds(quick: dict[str, Any]) -> None:
    if gpus(quick) != 4:
        pytest.skip("the promise is for four GPUs")
    assert quick["wall"] < 5, (quick["wall"], quick["setup_seconds"])


def loaded(build: Path, aggressor: str, *cells: str) -> dict[str, Any]:
    code, document, stderr = copy(build, *cells, "--aggressor", aggressor)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    measurement.document.from_raw(document, "nearfar-copy --aggressor")
    assert document["aggressor"] == [aggressor]
    for result in document["results"]:
        assert [entry["flow"] for entry in result["aggressors"]] == aggressor.split("+")
        assert all(flow["flow"] in result["cell"].split("+") for flow in result["flows"]), "it is no flow of the cell"
    return document


@pytest.mark.parametrize("cell", ["n0:g0", "g0:n0"])
def test_an_aggressor_takes_its_part_of_the_same_path(cell: str, build_folder: Path) -> None:
    alone = usual_medians(build_folder, [cell])[cell]
    (result,) = loaded(build_folder, cell, cell)["results"]
    own, other = result["total"]["median"], result["aggressors"][0]["rate"]["median"]
    assert own < 0.8 * alone, f"{cell} beside itself: {own:.1f} of {alone:.1f} GB/s, the aggressor {other:.1f}"
    assert other > 0.1 * alone, "the aggressor was starved"
    assert own + other < 1.15 * alone, "more than the link carries"
    assert result["flows"][0]["rate"]["median"] == own, "the aggressor is not summed into the cell"


def test_an_aggressor_on_another_gpu_leaves_pairs_alone(quick: dict[str, Any], build_folder: Path) -> None:
    if gpus(quick) < 3 or not quick["node"]["peers"]:
        pytest.skip("needs three GPUs with NVLink")
    alone = usual_medians(build_folder, ["g0:g1"])["g0:g1"]
    (result,) = loaded(build_folder, "n0:g2", "g0:g1")["results"]
    assert result["total"]["median"] == pytest.approx(alone, rel=0.02)
    assert result["aggressors"][0]["rate"]["median"] > 5


def test_a_loaded_document_calibrates_nothing(build_folder: Path) -> None:
    raw = loaded(build_folder, "n0:g0+g0:n0", "n0:g0")
    with pytest.raises(NearfarError, match=r"n0:g0\+g0:n0 ran in the background"):
        refuse_loaded([measurement.document.from_raw(raw, "loaded.json")])


def test_quick_beside_an_aggressor_has_every_cell_to_itself(quick: dict[str, Any], build_folder: Path) -> None:
    if gpus(quick) < 4:
        pytest.skip("needs four GPUs")
    code, document, stderr = copy(build_folder, "--quick", "g0:g1", "g2:g3", "--aggressor", "n0:g0")
    assert code == 0, (document.get("skipped"), stderr)
    assert not any("beside" in result for result in document["results"])


def test_nothing_is_reported_as_loaded_once_the_aggressor_is_dead(build_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "document.json"
    cells = MANY
    command = [str(build_folder / "bin" / "nearfar-copy"), f"--json={file}", *cells, "--aggressor", "g0:n0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:  # "3/9 n0:g0/sm": the aggressor runs, and cells have been measured
            if line.startswith("3/"):
                break
        (aggressor,) = tasks_of(running.pid)
        os.kill(aggressor, signal.SIGKILL)
        running.stderr.read()
        assert running.wait(timeout=60) == 3
    raw = json.loads(file.read_text())
    assert len(raw["results"]) + len(raw["skipped"]) == len(cells)
    assert raw["results"] and raw["skipped"]
    for result in raw["results"]:
        assert result["aggressors"][0]["rate"]["median"] > 0
    for entry in raw["skipped"]:
        assert entry["code"] == "interrupted"
        assert "aggressor g0:n0 died" in entry["reason"]


def test_an_aggressor_on_a_hidden_gpu_leaves_nothing_measured(quick: dict[str, Any], build_folder: Path) -> None:
    if gpus(quick) < 2:
        pytest.skip("needs two GPUs")
    code, document, _ = copy(build_folder, "n0:g0", "--aggressor", "n0:g1", CUDA_VISIBLE_DEVICES="0")
    hidden = document["skipped"][0]
    assert (code, hidden["code"], document["results"]) == (3, "interrupted", [])
    assert "the aggressor n0:g1 died: g1" in hidden["reason"]


@pytest.mark.parametrize(
    "cell, named", [("n0:g99", "no g99"), ("c0:n0/triad", "no background load"), ("n0:g0/x2/threads", "n0:g0/x2")]
)
def test_what_cannot_be_an_aggressor_is_wrong_use(build_folder: Path, cell: str, named: str) -> None:
    code, document, stderr = copy(build_folder, "n0:g0", "--aggressor", cell)
    assert (code, document) == (2, {})
    assert named in stderr
    assert len(stderr.strip().splitlines()) == 1
