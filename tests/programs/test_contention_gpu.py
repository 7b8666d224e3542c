"""nearfar-contention on real GPUs: penalties in both directions, bindings, layouts, and how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.mpi import contention
from tests.conftest import gpus
from tests.support.launchers import mpirun

pytestmark = pytest.mark.gpu

#: Cores for both directions of each GPU and a pair for each.
NEEDED = 4 * gpus()


@pytest.fixture(scope="module")
def program(build_folder: Path) -> Path:
    if (os.cpu_count() or 1) < NEEDED:
        pytest.skip(f"{NEEDED} cores are needed")
    return build_folder / "bin" / "nearfar-contention"


def measured(program: Path, ranks: int, folder: Path, *words: str) -> dict[str, Any]:
    file = folder / "document.json"
    ran = mpirun(program, ranks, f"--json={file}", "--rounds", "6", "--window", "0.1", *words, timeout=300)
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(file.read_text())
    return document


@pytest.fixture(scope="module")
def document(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every GPU in both directions and a pair for each."""
    return measured(program, 3 * gpus(), tmp_path_factory.mktemp("contention"))


def test_every_gpu_moves_alone_and_beside_mpi(document: dict[str, Any]) -> None:
    loaded = measurement.document.from_raw(document, "nearfar-contention")
    moved = [r for r in document["results"] if r["quantity"] == "contention.gpu.bandwidth"]
    assert len(moved) == len(contention.TRAFFICS)
    for result in moved:
        assert len(result["flows"]) == 2 * gpus() and result["verified"]
        for flow in result["flows"]:
            assert flow["solo"]["median"] > 1 and flow["rate"]["median"] > 0 and not flow["starved"]
            assert abs(flow["penalty"]["median"]) < 1
    assert not loaded.failed and not loaded.skipped


def test_the_rates_alone_are_those_of_nearfar_copy_at_once(document: dict[str, Any]) -> None:
    """Both directions of every GPU at once: no flow above what its link can carry, none at a crawl."""
    for result in document["results"]:
        for flow in result["flows"] if result["quantity"] == "contention.gpu.bandwidth" else []:
            assert 2 < flow["solo"]["median"] < 64, flow["flow"]


def test_every_thread_has_a_core_of_its_own(document: dict[str, Any]) -> None:
    taken = [cpus for role in document["contention"]["roles"] for cpus in role.get("mover_cpus", [])]
    taken += [role["mpi_cpus"]["apart"] for role in document["contention"]["roles"] if "mpi_cpus" in role]
    assert len(taken) == len(set(taken)) == NEEDED


def test_small_messages_have_latencies_below_a_millisecond(document: dict[str, Any]) -> None:
    (small,) = [
        r
        for r in document["results"]
        if r["quantity"] == "contention.mpi.latency" and r["cell"].endswith("pingpong_8B")
    ]
    for pair in small["flows"]:
        assert 0.05 < pair["solo"]["median"] < 1000 and 0.05 < pair["rate"]["median"] < 1000
        assert pair["polled"]["median"] > 0


def test_one_and_all_gpus_with_threads_together_and_split(program: Path, tmp_path: Path) -> None:
    document = measured(program, 2 * gpus(), tmp_path, "--layout", "together,split")
    assert document["contention"]["threads"] == "MPI_THREAD_MULTIPLE"
    cells = {r["cell"] for r in document["results"]}
    for count in range(1, gpus() + 1):
        assert f"within.together.{count}.pingpong_1MiB" in cells
    split = any(".split." in cell for cell in cells)
    assert split != any(skip["cell"] == "split" for skip in document["skipped"])


def test_a_gpu_that_is_not_there_fails_and_is_named(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "document.json"
    ran = mpirun(program, 3, f"--json={file}", "--tasks", "1", "--gpus", "ffff:ff:1f.0", "--rounds", "1")
    assert ran.returncode == 1, ran.stderr
    (failed,) = json.loads(file.read_text())["failed"]
    assert failed["code"] == "absent" and "ffff:ff:1f.0" in failed["reason"]
