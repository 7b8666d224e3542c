"""nearfar-kernels without a GPU: on the CPU, on emulated GPUs, and with ranks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, emulated_programs
from tests.support.launchers import mpirun

QUANTITIES = ("in", "compute", "out", "total", "overlapped", "rate")
OWN = ("reduction", "scan", "sort", "triad", "stencil", "md", "dmd")
GEMM = ("sgemm", "dgemm", "bf16gemm")
LIBRARIES = (*GEMM, "sfft", "dfft", "spmv")


@pytest.fixture(scope="module")
def program(build_folder: Path) -> Path:
    return build_folder / "bin" / "nearfar-kernels"


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


def measured(emulated: Emulated, *words: str, code: int = 0, settings: str = "") -> dict[str, Any]:
    """The document of emulated-kernels on two GPUs with small operands."""
    path = emulated.programs / "emulated-kernels"
    ended = emulated.start([str(path), "--size", "small", "--rounds", "1", "--json", *words], 2, settings)
    document = ended.document()
    assert ended.code == code, f"{document['skipped']} {document['failed']} {ended.errors}"
    measurement.document.from_raw(document, "emulated-kernels")
    return document


def test_the_cpu_computes_and_every_answer_was_verified(program: Path) -> None:
    words = ["--device", "host", "--size", "small", "--rounds", "2", "--json"]
    ran = subprocess.run([str(program), *words], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    measurement.document.from_raw(document, "nearfar-kernels")
    (subject,) = {result["cell"] for result in document["results"] if result["cell"] == "n0"}
    mine = {result["quantity"]: result for result in document["results"] if result["cell"] == subject}
    assert set(mine) == {f"kernel.host.{kernel}.{what}" for kernel in OWN for what in QUANTITIES}
    for result in mine.values():
        assert result["verified"]["bytes"] > 0 and result["size"] == "small"
        assert result["bytes"] == result["in_bytes"] + result["out_bytes"]
    for kernel in OWN:
        parts = [min(mine[f"kernel.host.{kernel}.{part}"]["flows"][0]["rate"]["samples"]) for part in QUANTITIES[:3]]
        totals = mine[f"kernel.host.{kernel}.total"]["flows"][0]["rate"]["samples"]
        assert sum(parts) <= min(totals) * 1.001, "no call is shorter than its parts at their best"
    assert {entry["cell"] for entry in document["skipped"]} >= {f"n0/{kernel}/small" for kernel in LIBRARIES}
    assert {entry["code"] for entry in document["skipped"]} == {"unsupported"}


def test_each_gpu_is_measured_with_operands_of_a_numa_node(emulated: Emulated) -> None:
    document = measured(emulated, "g0.n0/triad", "g1.n0/sort")
    assert {(result["cell"], result["quantity"].split(".")[1]) for result in document["results"]} == {
        ("g0.n0", "triad"),
        ("g1.n0", "sort"),
    }
    assert all(result["flows"][0]["memory_nodes"] == [0] for result in document["results"])


def test_a_missing_library_leaves_its_kernels_out_with_the_reason(emulated: Emulated) -> None:
    """On emulated GPUs no library of CUDA can start: the others are measured all the same."""
    document = measured(emulated, "g0.n0", "--kernels", "dfft,triad", code=3)
    assert [entry["cell"] for entry in document["skipped"]] == ["g0.n0/dfft/small"]
    assert document["skipped"][0]["code"] == "missing_library"
    assert "cuFFT" in document["skipped"][0]["reason"]
    assert {result["quantity"].split(".")[1] for result in document["results"]} == {"triad"}


@pytest.mark.parametrize("kernel", OWN)
def test_a_wrong_answer_fails(emulated: Emulated, kernel: str) -> None:
    document = measured(emulated, f"g0.n0/{kernel}", code=1, settings="wrong=3")
    assert [(entry["cell"], entry["code"]) for entry in document["failed"]] == [(f"g0.n0/{kernel}/small", "wrong_data")]
    assert not document["results"]


@pytest.mark.parametrize("kernel", GEMM)
def test_products_are_exact_and_without_transfers_only_the_rate_is_measured(emulated: Emulated, kernel: str) -> None:
    words = (f"g0.n0/{kernel}", "--rate-only")
    document = measured(emulated, *words)
    (rate,) = document["results"]
    launches = rate["verified"]["bytes"] / rate["out_bytes"]
    assert rate["quantity"] == f"kernel.{kernel}.rate" and launches >= rate["flows"][0]["rate"]["n"] == 4
    document = measured(emulated, *words, code=1, settings="wrong_product=5,wrong_by=0.001,wrong_only=1")
    assert "exact" in document["failed"][0]["reason"]


@pytest.mark.parametrize("launch", range(2, 8))
def test_a_wrong_product_in_one_launch_fails(emulated: Emulated, launch: int) -> None:
    """The first is the exact one; the second is what the others have to be, the third tells how long one takes."""
    settings = f"wrong_product=5,wrong_by=0.001,wrong_only={launch}"
    document = measured(emulated, "g0.n0/sgemm", "--rate-only", code=1, settings=settings)
    assert [entry["code"] for entry in document["failed"]] == ["wrong_data"]


def test_only_products_go_without_transfers(emulated: Emulated) -> None:
    command = [str(emulated.programs / "emulated-kernels"), "--rate-only", "g0.n0/triad"]
    ended = emulated.start(command, 1, "")
    assert ended.code == 2 and "triad is not one" in ended.errors


def test_results_that_never_come_back_fail(emulated: Emulated) -> None:
    document = measured(emulated, "g0.n0/triad", code=1, settings="leave_out_each=1")
    assert document["failed"][0]["code"] == "wrong_data", "what is there is poison"


def test_too_little_gpu_memory_is_said(emulated: Emulated) -> None:
    document = measured(emulated, "g0.n0/triad", code=3, settings="memory=1000000")
    assert document["skipped"][0]["code"] == "no_memory"
    assert "g0's memory" in document["skipped"][0]["reason"]


def test_a_lost_gpu_fails_and_the_other_is_measured(emulated: Emulated) -> None:
    document = measured(emulated, "g0.n0/triad", "g1.n0/triad", code=1, settings="fault=triad@0:2:lose_later")
    assert [(entry["cell"], entry["code"]) for entry in document["failed"]] == [("g0.n0/triad/small", "lost")]
    assert {result["cell"] for result in document["results"]} == {"g1.n0"}


def test_a_kernel_that_hangs_once_is_tried_again_and_noted(emulated: Emulated, tmp_path: Path) -> None:
    once = f"fault=triad:1:hang,once={tmp_path / 'once'}"
    document = measured(emulated, "g0.n0/triad", "g0.n0/md", "--timeout", "2", settings=once)
    assert [(entry["cell"], entry["code"]) for entry in document["notes"]] == [("g0.n0/triad/small", "hung_once")]
    assert {result["quantity"].split(".")[1] for result in document["results"]} == {"md", "triad"}


def test_subjects_come_from_a_file_and_absent_ones_fail(emulated: Emulated, tmp_path: Path) -> None:
    cells = tmp_path / "cells"
    cells.write_text("g0.n0/triad  # near\n\ng5.n0\n")
    document = measured(emulated, "--cells", str(cells), "--absent-fails", code=1)
    assert [(entry["cell"], entry["code"]) for entry in document["failed"]] == [("g5.n0", "absent")]
    assert {result["cell"] for result in document["results"]} == {"g0.n0"}


def test_modes_of_tensor_cores_in_the_environment_are_named(
    emulated: Emulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    document = measured(emulated, "g0.n0/triad")
    assert document["node"]["software"]["tensor_modes"] == "NVIDIA_TF32_OVERRIDE=0"


def test_ranks_have_a_gpu_each_and_subjects_name_the_binding(emulated: Emulated) -> None:
    words = ["--size", "small", "--kernels", "triad,scan", "--rounds", "2", "--binding", "default,right", "--json"]
    ended = emulated.run_ranks("emulated-kernels", 2, *words, gpus=2)
    document = ended.document()
    measurement.document.from_raw(document, "emulated-kernels")
    assert ended.code == 0, ended.errors
    assert [rank["gpu"] for rank in document["mpi"]["ranks"]] == [0, 1]
    assert {result["cell"] for result in document["results"]} == {
        f"g{gpu}.n0/{binding}" for gpu in (0, 1) for binding in ("default", "right")
    }
    assert all(len(result["flows"]) == 1 and result["verified"] for result in document["results"])


def test_a_binding_that_a_node_cannot_have_is_left_out(program: Path) -> None:
    words = ("--device", "host", "--size", "small", "--kernels", "triad", "--rounds", "1", "--json")
    ran = mpirun(program, 2, *words, "--binding", "right,wrong")
    document = json.loads(ran.stdout)
    measured_bindings = {result["cell"].split("/")[1] for result in document["results"]}
    skipped = {entry["cell"] for entry in document["skipped"]}
    assert measured_bindings | skipped == {"right", "wrong"} and "right" in measured_bindings
    assert ran.returncode == 0, ran.stderr


def test_bindings_need_a_launcher(program: Path) -> None:
    ran = subprocess.run([str(program), "--binding", "right"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and "mpirun" in ran.stderr and len(ran.stderr.splitlines()) == 1
