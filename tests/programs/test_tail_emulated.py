"""``nearfar-copy --tail`` on emulated GPUs: one slow transfer is found, named, and told when it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, emulated_programs


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("tail"))


def tails(emulated: Emulated, *words: str, gpus: int = 1, settings: str = "") -> dict[str, dict[str, Any]]:
    """The results by their cells, of a run in which all went well."""
    ended = emulated.run("--json", *words, gpus=gpus, settings=settings)
    document = ended.document()
    measurement.document.from_raw(document, "emulated-copy")
    assert ended.code == 0 and not document["failed"] + document["skipped"], ended.errors
    assert {result["quantity"] for result in document["results"]} == {"tail"}
    return {result["cell"]: result for result in document["results"]}


def test_one_slow_transfer_is_found_with_its_time(emulated: Emulated) -> None:
    # The 60 transfers are in five visits, each of 12 behind one that wakes the engine: the 35th is in the third.
    # A busy machine can hold a transfer up for longer than the fault does: then it is measured again.
    for _ in range(4):
        result = tails(emulated, "n0:g0", "--tail=60", settings="fault=cudaMemcpyAsync:35:slow=16")["n0:g0"]
        if result["tail"]["worst_over_p50"] < 20:
            break
    tail, samples = result["tail"], result["flows"][0]["rate"]["samples"]
    assert tail["count"] == len(samples) == 60 and result["converged"]
    assert tail["worst"] == max(samples) and 8 < tail["worst_over_p50"] < 20, tail
    assert tail["p50"] <= tail["p99"] <= tail["p99_9"] <= tail["worst"]
    assert tail["p50"] < tail["worst"] / 8, "a median sees nothing of it"
    assert len(result["visits"]) == 5 and tail["worst_visit"] == 3
    visit = result["visits"][2]
    assert visit["at"] <= tail["worst_at"] <= visit["at"] + visit["seconds"]
    slowest = sum(each["n"] for each in result["visits"][:2]), sum(each["n"] for each in result["visits"][:3])
    assert slowest[0] <= samples.index(max(samples)) < slowest[1], "of the visit that is named"
    assert result["verified"]["copies"] == 65, "every transfer and those that wake the engine"


def test_without_cells_every_path_has_one(emulated: Emulated) -> None:
    found = tails(emulated, "--tail=5", gpus=2)
    assert {"n0:g0", "g0:n0", "n0:g1", "g1:n0", "g0:g1", "g1:g0", "g0:g1@g1", "g1:g0@g0"} <= set(found)
    assert all(result["tail"]["count"] == 5 for result in found.values())


def test_the_table_names_the_worst(emulated: Emulated) -> None:
    ended = emulated.run("n0:g0", "--tail=20", settings="fault=cudaMemcpyAsync:12:slow=16")
    assert "n0:g0 tail, us" in ended.output
    assert "  worst of 20: " in ended.output and " times the median, at " in ended.output, ended.output


def test_cells_that_cannot_be_timed_one_by_one_are_skipped_with_the_reason(emulated: Emulated) -> None:
    document = emulated.run("n0:g0+g0:n0", "n0:g0/pageable", "--tail=5", "--json").document()
    assert [skip["code"] for skip in document["skipped"]] == ["unsupported"] * 2
    assert "--tail is for one flow alone" in document["skipped"][0]["reason"]


@pytest.mark.parametrize(
    "words", [["--tail=0"], ["--tail=1.5"], ["--tail=100001"], ["--tail", "--latency"], ["--tail", "--quick"]]
)
def test_wrong_use_is_one_line(emulated: Emulated, words: list[str]) -> None:
    ended = emulated.run(*words)
    assert ended.code == 2 and "--tail" in ended.errors and len(ended.errors.strip().splitlines()) == 1
