"""nearfar-contention and nearfar-kernels saxpy on emulated GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, emulated_programs

SAXPY = ("saxpy", "--json", "--oversubscribe", "--rounds", "3", "--bytes", "64KiB", "--iterations", "2")


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


def test_saxpy_has_a_gpu_for_each_rank_and_every_answer_right(emulated: Emulated) -> None:
    ended = emulated.run_ranks("emulated-kernels", 2, *SAXPY, gpus=2)
    document = ended.document()
    measurement.document.from_raw(document, "emulated-kernels")
    assert ended.code == 0, ended.errors
    assert [rank["gpu"] for rank in document["mpi"]["ranks"]] == [0, 1]
    assert document["results"] and all(result["verified"] for result in document["results"])


def test_saxpy_tells_wrong_answers(emulated: Emulated) -> None:
    ended = emulated.run_ranks("emulated-kernels", 1, *SAXPY, settings="leave_out=2")
    assert ended.code == 1
    assert [entry["code"] for entry in ended.document()["failed"]] == ["wrong_data"]


def test_saxpy_tells_a_lost_gpu(emulated: Emulated) -> None:
    ended = emulated.run_ranks("emulated-kernels", 1, *SAXPY, settings="fault=saxpy:2:lose_later")
    assert ended.code == 1
    assert {entry["code"] for entry in ended.document()["failed"]} == {"lost"}


def test_contention_moves_by_the_gpus_beside_mpi(emulated: Emulated) -> None:
    words = ("--json", "--oversubscribe", "--rounds", "6", "--window", "0.05", "--sizes", "8B", "--flows", "h2d")
    ended = emulated.run_ranks("emulated-contention", 3, *words)
    document = ended.document()
    measurement.document.from_raw(document, "emulated-contention")
    assert ended.code == 0, ended.errors
    moved = [result for result in document["results"] if result["quantity"] == "contention.gpu.bandwidth"]
    assert moved and all(result["verified"] for result in moved)


def test_contention_tells_wrong_bytes(emulated: Emulated) -> None:
    words = ("--json", "--oversubscribe", "--rounds", "6", "--window", "0.05", "--sizes", "8B", "--flows", "h2d")
    ended = emulated.run_ranks("emulated-contention", 3, *words, settings="wrong=8")
    assert ended.code == 1
    assert "wrong_data" in {entry["code"] for entry in ended.document()["failed"]}
