"""Host memory and GPUs of the programs, on emulated GPUs: which GPU registers, what is refused and in which words."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..support.emulated import Emulated

OUT_OF_MEMORY, NOT_PERMITTED, NOT_SUPPORTED = 2, 800, 801


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    if not (build_folder / "bin" / "emulated-copy").exists():
        pytest.skip("emulated-copy was not built: there are no headers of CUDA here")
    return Emulated(build_folder / "bin", tmp_path_factory.mktemp("emulated"))


def skipped(emulated: Emulated, *words: str, settings: str, gpus: int = 1) -> tuple[str, str]:
    """The code and the reason of the one cell that is skipped."""
    ended = emulated.run("--json", *words, gpus=gpus, settings=settings)
    (skip,) = ended.document()["skipped"]
    return skip["code"], skip["reason"]


@pytest.mark.parametrize("sick", ["refusing=0", "other_processes=0,fault=cudaHostRegister@0:0:error=2"])
def test_host_memory_is_registered_through_a_gpu_of_the_cell(emulated: Emulated, sick: str) -> None:
    document = emulated.run("--json", "n0:g1", gpus=2, settings=sick).document()
    assert [result["cell"] for result in document["results"]] == ["n0:g1"], document["skipped"]
    assert document["results"][0]["verified"]


def test_each_rank_opens_its_own_gpu_and_no_other(emulated: Emulated) -> None:
    """A third GPU is visible, as under Slurm, and refuses every context: nobody asks it for one."""
    mpirun = shutil.which("mpirun")
    program = emulated.programs / "emulated-contention"
    if mpirun is None or not program.exists():
        pytest.skip("there is no MPI")
    environment = emulated.environment(2, "fault=cudaSetDevice@0:0:error=46,calls=" + str(emulated.folder / "calls"))
    environment |= {"CUDA_VISIBLE_DEVICES": "0,1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # The list of GPUs turned round: the only mover's GPU, g0, is CUDA's second.
    command = [mpirun, "--oversubscribe", "-n", "3", str(program), "--json", "--oversubscribe", "--layout", "apart", "--tasks", "1"]
    command += ["--gpus", "0000:11:00.0", "--sizes", "1KiB", "--rounds", "6", "--window", "0.05"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_confidential_computing_is_named_and_the_limit_on_locked_memory_is_not(emulated: Emulated) -> None:
    code, reason = skipped(emulated, "n0:g0", settings=f"confidential=1,fault=cudaHostRegister:0:error={NOT_SUPPORTED}")
    assert code == "denied"
    assert "with confidential computing no device reaches the memory" in reason
    assert "ulimit" not in reason


def test_the_limit_on_locked_memory_is_named_with_its_value(emulated: Emulated) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    limit = 64 << 10 if hard == resource.RLIM_INFINITY else min(hard, 64 << 10)
    program = [str(emulated.programs / "emulated-copy"), "--json", "n0:g0"]
    environment = emulated.environment(1, f"fault=cudaHostRegister:0:error={OUT_OF_MEMORY}")
    ended = subprocess.run(
        ["sh", "-c", f'ulimit -l {limit >> 10}; exec "$@"', "sh", *program],
        env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 3, ended.stderr
    assert '"code": "memlock"' in ended.stdout
    assert f"4 MiB were asked for, and the limit on locked memory ('ulimit -l') is {limit >> 10} KiB" in ended.stdout


def test_the_multi_process_service_alone_keeps_no_gpu_busy(emulated: Emulated) -> None:
    assert emulated.run("--json", "n0:g0", settings="mps_clients=0").code == 0
    code, reason = skipped(emulated, "n0:g0", settings="mps_clients=2,other_processes=1")
    assert (code, "is used by 3 other process(es)" in reason) == ("busy", True), reason


@pytest.mark.skipif(not os.access("/sys/fs/cgroup/memory", os.W_OK), reason="needs a memory control group of its own")
def test_buffers_that_a_control_group_cannot_hold_are_skipped_and_the_others_measured(emulated: Emulated) -> None:
    pass
