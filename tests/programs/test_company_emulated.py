"""Pairs of eight emulated GPUs in company, in rounds: the whole path, and what a slow pair, a lost GPU or a signal does to it."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, emulated_programs

GPUS = 8
ALL = [f"g{a}:g{b}" for a in range(GPUS) for b in range(GPUS) if a != b]
#: Slow enough for the CPUs that do it.
RATES = "nvlinks=18,peer=5e8"


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("company"))


def measured(emulated: Emulated, *words: str, settings: str = RATES) -> dict[str, Any]:
    """The document of a run, valid, with each asked cell once."""
    document = emulated.run("--json", *words, gpus=GPUS, settings=settings, timeout=180).document()
    measurement.document.from_raw(document, "emulated-copy")
    return document


def results(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {result["cell"]: result for result in document["results"]}
    assert len(found) == len(document["results"])
    return found


def ends(flow: str) -> list[str]:
    return flow.split("@")[0].split(":")


def test_all_pairs_are_visited_four_at_a_time(emulated: Emulated) -> None:
    document = measured(emulated, *ALL, "--rounds", "2", settings=f"{RATES},slow=2:5:2e8")
    found = results(document)
    assert set(found) == set(ALL) and not document["skipped"] + document["failed"]
    alone = {cell for cell, result in found.items() if "beside" not in result}
    assert "g0:g1" in alone, "the first of its kind is measured alone"
    assert {cell for cell in alone if found[cell].get("remeasured")} >= {"g2:g5"}
    slow = found["g2:g5"]["total"]
    assert slow["plateau"] < 0.21
    for cell, result in found.items():
        assert result["verified"] and len(result["visits"]) == 2, cell
        used = [end for flow in (cell, *result.get("beside", ())) for end in ends(flow)]
        assert len(used) == len(set(used)), f"{cell} beside {result['beside']} share a GPU"
    company = [result for result in found.values() if "beside" in result]
    assert company and {len(result["beside"]) for result in company} <= {2, 3}


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ([], "peer=5e8"),
        (["--aggressor", "n0:g7"], RATES),
        (["--sizes", "1MiB"], RATES),
    ],
    ids=["without_nvlink", "aggressor", "sizes"],
)
def test_where_pairs_are_alone(emulated: Emulated, words: list[str], settings: str) -> None:
    document = measured(emulated, "g0:g1", "g2:g3", "g4:g5", *words, settings=settings)
    assert len(document["results"]) == 3
    assert not any("beside" in result for result in document["results"])


def test_two_pairs_are_not_worth_it(emulated: Emulated) -> None:
    document = measured(emulated, "g0:g1", "g2:g3", "--rounds", "1")
    assert not any("beside" in result for result in results(document).values())


def test_what_is_a_cell_of_its_own_is_not_measured_again_as_a_baseline(emulated: Emulated) -> None:
    both = "g2:g3+g4:g5"
    document = measured(emulated, "g2:g3", both, "--rounds", "1")
    assert ["solo" in flow for flow in results(document)[both]["flows"]] == [False, True]
    read = {result.subject: result for result in measurement.document.from_raw(document).results}
    of_cell, of_baseline = (flow.solo for flow in read[both].flows)
    assert of_cell == read["g2:g3"].flows[0].rate and of_baseline is not None
    assert read["g2:g3"].flows[0].solo is None, "a flow alone has no company"


def test_a_lost_gpu_fails_its_own_cells_alone(emulated: Emulated) -> None:
    once = emulated.folder / "lost"
    cells = ["g0:g1", "g2:g3", "g4:g5", "g6:g7", "g1:g0", "g3:g2", "g5:g4", "g7:g6"]
    settings = f"{RATES},once={once},fault=cudaMemcpyPeerAsync@4:40:lose=719"
    document = measured(emulated, *cells, "--rounds", "2", settings=settings)
    assert once.exists() and not document["skipped"]
    assert {entry["cell"] for entry in document["failed"]} == {"g4:g5", "g5:g4"}
    assert set(results(document)) == set(cells) - {"g4:g5", "g5:g4"}
    assert all(result["verified"] for result in document["results"])


def test_a_gpu_that_takes_the_process_along_is_found_alone(emulated: Emulated) -> None:
    cells = ["g0:g1", "g2:g3", "g4:g5", "g6:g7"]
    settings = f"{RATES},process_is_lost=1,fault=cudaMemcpyPeerAsync@4:12:lose=719"
    document = measured(emulated, *cells, "--rounds", "2", settings=settings)
    together, alone = document["failed"]
    assert (together["cell"], together["code"]) == ("", "lost")
    assert "while g2:g3+g4:g5+g6:g7 were measured together" in together["reason"]
    assert (alone["cell"], alone["code"]) == ("g4:g5", "lost")
    assert set(results(document)) == set(cells) - {"g4:g5"} and not document["skipped"]


def test_a_pair_that_hangs_is_found_alone(emulated: Emulated) -> None:
    cells = ["g0:g1", "g2:g3", "g4:g5", "g6:g7"]
    settings = f"{RATES},fault=cudaMemcpyPeerAsync@4:12:stall"
    document = measured(emulated, *cells, "--rounds", "2", "--timeout", "3", settings=settings)
    assert {(entry["cell"], entry["code"]) for entry in document["failed"]} == {("g4:g5", "hang")}
    assert set(results(document)) == set(cells) - {"g4:g5"}


def test_a_signal_in_the_middle_leaves_what_was_visited(emulated: Emulated) -> None:
    command = [str(emulated.programs / "emulated-copy"), "--json", *ALL, "--rounds", "3"]
    environment = emulated.environment(GPUS, RATES)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None and running.stdout is not None
        for _ in zip(range(4), running.stderr):  # steps of the first round
            pass
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    document = measurement.document.from_raw(json.loads(output), "emulated-copy").raw
    assert running.returncode == 3
    assert document["results"] and document["skipped"] and not document["failed"]
    assert {entry["code"] for entry in document["skipped"]} == {"interrupted"}
    assert {result["cell"] for result in document["results"]} | {entry["cell"] for entry in document["skipped"]} == set(
        ALL
    )
    assert not any(result["converged"] for result in document["results"])
