"""Host memory and GPUs of the programs, on emulated GPUs: which GPU registers, what is refused and in which words."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.emulated import Emulated

#: CUDA's errors.
OUT_OF_MEMORY, NOT_SUPPORTED = 2, 801


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    if not (build_folder / "bin" / "emulated-copy").exists():
        pytest.skip("no headers of CUDA: the emulated programs are not built")
    if shutil.which("lstopo-no-graphics") is None:
        pytest.skip("no lstopo")
    return Emulated(build_folder / "bin", tmp_path_factory.mktemp("emulated"))


def skipped(emulated: Emulated, *words: str, settings: str, gpus: int = 1) -> tuple[str, str]:
    """The code and the reason of the one cell that is skipped."""
    ended = emulated.run("--json", *words, gpus=gpus, settings=settings)
    (skip,) = ended.document()["skipped"]
    return skip["code"], skip["reason"]


@pytest.mark.parametrize("sick", ["refusing=0", f"fault=cudaHostRegister@0:0:error={OUT_OF_MEMORY}"])
def test_host_memory_is_registered_through_a_gpu_of_the_cell(emulated: Emulated, sick: str) -> None:
    document = emulated.run("--json", "n0:g1", gpus=2, settings=sick).document()
    assert [result["cell"] for result in document["results"]] == ["n0:g1"], document["skipped"]
    assert document["results"][0]["verified"]


def test_each_rank_opens_its_own_gpu_and_no_other(emulated: Emulated) -> None:
    mpirun = shutil.which("mpirun")
    if mpirun is None or not (emulated.programs / "emulated-contention").exists():
        pytest.skip("there is no MPI")
    # Both GPUs are visible to all ranks, as under Slurm; none gets a context on a second one.
    environment = emulated.environment(2, "most_gpus=1") | {"CUDA_VISIBLE_DEVICES": "0,1"}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [mpirun, "--oversubscribe", "-n", "4", str(emulated.programs / "emulated-contention"), "--oversubscribe"]
    command += ["--json", "--sizes", "1KiB", "--rounds", "2", "--window", "0.1"]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    document = json.loads(ended.stdout)
    assert not document["skipped"] + document["failed"] and document["results"], document


def test_confidential_computing_is_named_and_the_limit_on_locked_memory_is_not(emulated: Emulated) -> None:
    code, reason = skipped(emulated, "n0:g0", settings=f"confidential=1,fault=cudaHostRegister:0:error={NOT_SUPPORTED}")
    assert code == "denied"
    assert "with confidential computing no device reaches the memory" in reason
    assert "ulimit" not in reason


def test_the_limit_on_locked_memory_is_named_with_its_value(emulated: Emulated) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    limit = 64 << 10 if hard == resource.RLIM_INFINITY else min(hard, 64 << 10)
    program = [str(emulated.programs / "emulated-copy"), "--json", "n0:g0"]
    environment = emulated.environment(1, f"fault=cudaHostRegister:0:error={OUT_OF_MEMORY}")
    ended = subprocess.run(
        ["sh", "-c", f'ulimit -l {limit >> 10}; exec "$@"', "sh", *program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 3, ended.stderr
    assert '"code": "memlock"' in ended.stdout
    assert f" MiB were asked for, and the limit on locked memory ('ulimit -l') is {limit >> 10} KiB" in ended.stdout


def test_the_multi_process_service_alone_keeps_no_gpu_busy(emulated: Emulated) -> None:
    assert emulated.run("--json", "n0:g0", settings="mps_clients=0").code == 0
    code, reason = skipped(emulated, "n0:g0", settings="mps_clients=2,other_processes=1")
    who = r"python3( of \S+)? \(pid \d+\)"
    assert code == "busy", reason
    assert re.search(
        rf"is used by {who}, {who}, {who}; run again when that has ended, or say --even-if-busy$", reason
    ), reason
    assert skipped(emulated, "n0:g0", settings="other_processes=5")[1].count("pid") == 3, "and 2 more"
