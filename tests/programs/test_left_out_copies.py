"""A copy that was not done, or not as a whole, fails its cell: on emulated GPUs, whose copies can be left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.emulated import Emulated, emulated_programs

#: Every way in which copies are queued: behind a latch, in a window, by a kernel, by processes and by threads.
CELLS = (
    "n0:g0", "g0:n0", "n0:g0/sm", "g0:n0/sm", "n0:g0/pageable", "g0:n0/pageable", "n0:g0+g0:n0", "n0:g0/x2", "n0:g0/x2/threads",
    "g0:g1", "g0:g1/sm", "g0:g1/staged", "g0:g0", "g0:g0/sm", "g0:g0/x2", "g0:g0+g1:g1",
)  # fmt: skip


@pytest.fixture
def emulated(build_folder: Path, tmp_path: Path) -> Emulated:
    return emulated_programs(build_folder, tmp_path)


def test_every_copy_is_seen(emulated: Emulated) -> None:
    ended = emulated.run("--json", *CELLS, gpus=2)
    assert ended.code == 0, ended.errors
    found = {result["cell"]: result["verified"] for result in ended.document()["results"]}
    assert found.keys() == set(CELLS)
    for cell, verified in found.items():
        assert verified["seen"] == verified["copies"] > 6, cell
        assert verified["bytes"] > 1 << 20, cell


def test_one_of_seven_left_out_is_found_in_every_way_of_copying(emulated: Emulated) -> None:
    ended = emulated.run("--json", *CELLS, gpus=2, settings="leave_out_each=7")
    assert ended.code == 1
    assert {failed["cell"]: failed["code"] for failed in ended.document()["failed"]} == dict.fromkeys(
        CELLS, "wrong_data"
    )


@pytest.mark.parametrize(
    ("cell", "number"), [("g0:n0", 2), ("g0:n0", 4), ("g0:n0", 6), ("g0:n0", 8), ("g0:g0", 4), ("g0:g0", 7)]
)
def test_a_single_copy_left_out_is_found_be_it_the_one_that_tells_of_wrong_words(
    emulated: Emulated, cell: str, number: int
) -> None:
    ended = emulated.run("--json", cell, settings=f"leave_out_latched={number}")
    (failed,) = ended.document()["failed"]
    assert ended.code == 1 and failed["code"] == "wrong_data", failed


@pytest.mark.parametrize("cell", ["n0:g0", "n0:g0/sm", "g0:n0/sm", "g0:g0", "g0:g0/sm"])
def test_any_size_is_copied_and_compared_as_it_is(emulated: Emulated, cell: str) -> None:
    sizes = [1, 7, 8, 12, 24, 1024, 4097]
    right = emulated.run("--json", "--sizes", ",".join(map(str, sizes)), cell)
    assert right.code == 0, right.errors
    assert [result["bytes"] for result in right.document()["results"]] == sizes
    last_byte = emulated.run("--json", "--sizes", "12", cell, settings="wrong=11")
    assert last_byte.document()["failed"][0]["code"] == "wrong_data"


def test_of_latencies_nothing_is_claimed(emulated: Emulated) -> None:
    results = emulated.run("--json", "--latency", "n0:g0").document()["results"]
    assert len(results) == 3 and all("verified" not in result for result in results)
