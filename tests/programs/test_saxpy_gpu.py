"""nearfar-kernels saxpy on real GPUs: one rank each, bindings in effect, answers, and its bad ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.mpi import load_balance
from nearfar.topology import parse_cpu_list
from tests.conftest import gpus
from tests.support.launchers import mpirun

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def program(build_folder: Path) -> Path:
    return build_folder / "bin" / "nearfar-kernels"


@pytest.fixture(scope="module")
def all_gpus(program: Path) -> dict[str, Any]:
    ran = mpirun(program, gpus(), "saxpy", "--json")
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def test_every_rank_has_a_gpu_of_its_own_and_every_answer_is_right(all_gpus: dict[str, Any]) -> None:
    document = measurement.document.from_raw(all_gpus)
    assert [rank["gpu"] for rank in all_gpus["mpi"]["ranks"]] == list(range(gpus()))
    assert document.results and all(result.verified for result in document.results)
    assert not document.failed


def test_transfers_are_below_what_the_link_carries_and_kernels_above_it(all_gpus: dict[str, Any]) -> None:
    known = load_balance.results(all_gpus)
    for part in known["default", "h2d"]["flows"]:
        assert 1 < part["rate"]["median"] < 500, part["flow"]
    for part in known["default", "kernel"]["flows"]:
        assert part["rate"]["median"] > 100, f"{part['flow']}: a kernel in device memory is not so slow"


def test_the_gpus_binding_is_its_numa_node(all_gpus: dict[str, Any]) -> None:
    known, node = load_balance.results(all_gpus), measurement.document.from_raw(all_gpus).node
    if ("gpu", "useful") not in known:
        (skip,) = all_gpus["skipped"]
        assert skip["code"] == "unsupported" and "does not say" in skip["reason"]
        pytest.skip("this machine does not say what is near")
    homes = {rank["rank"]: rank["numa_node"] for rank in all_gpus["mpi"]["ranks"]}
    taken: list[int] = []
    for number, part in enumerate(known["gpu", "useful"]["flows"]):
        home = node.numa_node(homes[number])
        assert home is not None and part["memory_nodes"] == [home.index]
        cpus = parse_cpu_list(part["cpus"])
        assert set(cpus) <= set(home.cpus)
        taken += cpus
    assert len(taken) == len(set(taken)), "no CPU belongs to two ranks"


def test_the_gpus_binding_is_at_least_as_good_as_the_launchers(all_gpus: dict[str, Any]) -> None:
    verdicts = [finding.verdict for finding in load_balance.findings(measurement.document.from_raw(all_gpus))]
    assert "FAIL" not in verdicts


def test_more_ranks_than_gpus_are_refused_in_one_line(program: Path) -> None:
    ran = mpirun(program, gpus() + 1, "saxpy", "--rounds", "1", "--oversubscribe")
    assert ran.returncode == 2
    said = [line for line in ran.stderr.splitlines() if line.startswith("nearfar-kernels: ")]
    assert len(said) == 1 and ("start one rank a GPU" in said[0])


def test_ranks_that_all_see_one_gpu_are_refused(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    ran = mpirun(program, 2, "saxpy", "--rounds", "1")
    assert ran.returncode == 2
    assert "see the same GPU" in ran.stderr
