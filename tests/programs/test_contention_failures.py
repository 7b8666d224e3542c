"""nearfar-contention where one rank fails in some phase: the run ends, and its document says which rank and why."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated
from tests.support.launchers import environment, launcher

SHORT = ("--rounds", "2", "--window", "0.02", "--oversubscribe")
#: Two movers and a pair.
RANKS = 4
#: Gives the faults of its second word to the rank of its first alone.
ONE_RANK = (
    'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = "$0" && EMULATED_CUDA="$EMULATED_CUDA,fault=$1"; shift; exec "$@"'
)
PRELOADED = Path(__file__).parents[1] / "support" / "failing_rank.c"


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    if not (build_folder / "bin" / "emulated-contention").exists() or shutil.which("lstopo-no-graphics") is None:
        pytest.skip("no emulated programs, or no lstopo")
    return Emulated(build_folder / "bin", tmp_path_factory.mktemp("emulated"))


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("mpicc")
    if compiler is None:
        pytest.skip("no mpicc for what is preloaded")
    library = tmp_path_factory.mktemp("preloaded") / "failing_rank.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(PRELOADED), "-ldl"], check=True)
    return library


def run(command: list[str], variables: dict[str, str], folder: Path) -> tuple[dict[str, Any], str]:
    """The document of a run, after a look at its schema, and what was said; the run is repeated where the machine was too busy for it."""
    for _ in range(4):
        document, said = run_once(command, variables, folder)
        if "busy" not in [entry.get("code") for entry in document["skipped"]]:
            break
    return document, said


def run_once(command: list[str], variables: dict[str, str], folder: Path) -> tuple[dict[str, Any], str]:
    """The same of one run."""
    file = folder / "document.json"
    file.unlink(missing_ok=True)
    ended = subprocess.run(
        [*command, f"--json={file}"], capture_output=True, text=True, timeout=300, env=environment() | variables
    )
    for _ in range(300):  # a launcher that was killed waited for nobody
        if file.exists():
            break
        time.sleep(0.1)
    assert file.exists(), f"exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    document: dict[str, Any] = json.loads(file.read_text())
    measurement.document.from_raw(document, "nearfar-contention")
    document["exit_code"] = ended.returncode
    return document, ended.stderr


def with_fault(emulated: Emulated, folder: Path, rank: int, fault: str, *words: str) -> dict[str, Any]:
    """A run on two emulated GPUs in which a rank's CUDA goes wrong."""
    program = emulated.programs / "emulated-contention"
    command = [
        *launcher(program, RANKS),
        "sh",
        "-c",
        ONE_RANK,
        str(rank),
        fault,
        str(program),
        "--tasks",
        "2",
        *SHORT,
        *words,
    ]
    return run(command, emulated.environment(2), folder)[0]


def with_preloaded(
    program: Path, library: Path, folder: Path, how: str, *words: str, rank: str = "all", at: int = 0, ranks: int = 0
) -> Any:
    """A run without GPUs in which something goes wrong around MPI."""
    ranks = ranks or (2 if "--mpi-only" in words else RANKS)
    variables = {"LD_PRELOAD": str(library), "FAILING_HOW": how, "FAILING_RANK": rank, "FAILING_AT": str(at)}
    return run([*launcher(program, ranks), str(program), *words], variables, folder)[0]


@pytest.fixture(scope="module")
def program(build_folder: Path) -> Path:
    return build_folder / "bin" / "nearfar-contention"


@pytest.mark.parametrize(
    ("rank", "call"),
    [
        (1, "cudaMalloc:1:lose"),
        (1, "fill:3:lose"),  # the first two are the sources; then each window poisons once
        (0, "cudaMemcpyAsync:120:lose_later"),
        (1, "verify:3:lose"),
    ],
    ids=["set-up", "poison", "move", "verify"],
)
def test_a_gpu_that_is_lost_is_told_with_its_rank_in_any_phase(
    emulated: Emulated, tmp_path: Path, rank: int, call: str
) -> None:
    document = with_fault(emulated, tmp_path, rank, f"{call}=719")
    (failed,) = document["failed"]
    assert failed["code"] == "lost" and failed["reason"].startswith(f"rank {rank} on "), failed
    assert document["exit_code"] == 1


def test_a_rank_that_hangs_in_the_driver_is_named(emulated: Emulated, tmp_path: Path) -> None:
    document = with_fault(emulated, tmp_path, 1, "fill:5:hang", "--timeout", "5")
    (failed,) = document["failed"]
    assert failed["code"] == "hung_once" and "waiting for rank 1 on " in failed["reason"], failed
    assert document["exit_code"] == 1


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_a_rank_that_dies_in_the_driver_is_told(emulated: Emulated, tmp_path: Path, how: str) -> None:
    document = with_fault(emulated, tmp_path, 1, f"fill:5:{how}")
    (failed,) = document["failed"]
    assert failed["code"] == "error" and "rank" in failed["reason"], failed
    assert document["exit_code"] != 0


def test_a_rank_that_is_stuck_among_messages_is_one_of_those_that_are_listed(
    program: Path, preloaded: Path, tmp_path: Path
) -> None:
    words = ("--mpi-only", "--timeout", "2", *SHORT)
    document = with_preloaded(program, preloaded, tmp_path, "stuck", *words, rank="1", at=30)
    (failed,) = document["failed"]
    assert failed["code"] == "hung_once" and "it is not known which: rank 0 on " in failed["reason"], failed
    assert ", rank 1 on " in failed["reason"], failed


@pytest.mark.parametrize(
    ("how", "at", "told"), [("hang", 12, "waiting for rank 1 on "), ("stuck", 14, "it is not known which: rank 0 on ")]
)
def test_a_rank_of_saxpy_that_hangs_is_told(
    program: Path, preloaded: Path, tmp_path: Path, how: str, at: int, told: str
) -> None:
    words = (
        "saxpy",
        "--bytes",
        "64KiB",
        "--device",
        "host",
        "--binding",
        "default",
        "--oversubscribe",
        "--timeout",
        "2",
    )
    saxpy = program.parent / "nearfar-kernels"
    document = with_preloaded(saxpy, preloaded, tmp_path, how, *words, rank="1", at=at, ranks=2)
    (failed,) = document["failed"]
    assert failed["code"] == "hung_once" and told in failed["reason"], failed


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_a_rank_that_dies_before_anything_is_known_of_it_is_named(
    program: Path, preloaded: Path, tmp_path: Path, how: str
) -> None:
    document = with_preloaded(program, preloaded, tmp_path, how, "--mpi-only", *SHORT, rank="1")
    (failed,) = document["failed"]
    assert failed["code"] == "error" and failed["reason"].startswith("rank 1 on "), failed


def test_rank_0_that_dies_is_named_with_how_it_ended(program: Path, preloaded: Path, tmp_path: Path) -> None:
    document = with_preloaded(program, preloaded, tmp_path, "abort", "--mpi-only", *SHORT, rank="0", at=30)
    (failed,) = document["failed"]
    assert failed["code"] == "error" and "rank 0 aborted (SIGABRT)" in failed["reason"], failed


@pytest.mark.parametrize("at", [0, 30], ids=["set-up", "measuring"])
def test_a_launcher_that_is_killed_is_no_failure(program: Path, preloaded: Path, tmp_path: Path, at: int) -> None:
    document = with_preloaded(program, preloaded, tmp_path, "launcher", "--mpi-only", *SHORT, rank="1", at=at)
    (skipped,) = document["skipped"]
    assert skipped["code"] == "interrupted" and not document["failed"], document


@pytest.mark.parametrize(("rank", "at"), [("1", 15), ("0", 70)], ids=["warm-up", "measuring"])
def test_a_refused_thread_is_told_with_its_rank(
    program: Path, preloaded: Path, tmp_path: Path, rank: str, at: int
) -> None:
    words = ("--with", "stream", "--tasks", "2", *SHORT)
    document = with_preloaded(program, preloaded, tmp_path, "thread", *words, rank=rank, at=at)
    (skipped,) = document["skipped"]
    assert skipped["code"] == "not_allowed" and skipped["reason"].startswith(f"rank {rank} on "), skipped
    assert "ulimit -u" in skipped["reason"] and document["exit_code"] == 3


@pytest.mark.parametrize("how", ["period", "twice"])
def test_messages_that_are_shifted_or_arrive_twice_are_wrong(
    program: Path, preloaded: Path, tmp_path: Path, how: str
) -> None:
    document = with_preloaded(program, preloaded, tmp_path, how, "--mpi-only", *SHORT)
    (failed,) = document["failed"]
    assert failed["code"] == "wrong_data" and document["exit_code"] == 1
    assert any(not result["verified"] for result in document["results"])


def test_a_window_without_a_message_has_no_figure(program: Path, preloaded: Path, tmp_path: Path) -> None:
    words = ("--mpi-only", "--sizes", "8", "--rounds", "1", "--oversubscribe")
    repeated = with_preloaded(program, preloaded, tmp_path, "slow", *words, "--window", "0.05")
    latency = next(result for result in repeated["results"] if result["quantity"] == "mpi.pingpong.latency")
    assert latency["total"]["min"] > 1e5, "microseconds: longer than the window that was asked for"
    assert repeated["exit_code"] == 0
    (tmp_path / "document.json").unlink()
    skipped = with_preloaded(program, preloaded, tmp_path, "slow", *words, "--window", "0.001")
    (why,) = skipped["skipped"]
    assert why["code"] == "budget" and "no message was complete" in why["reason"]
    assert skipped["exit_code"] == 3 and not skipped["results"]


@pytest.mark.parametrize("name", ["emulated-contention", "emulated-kernels"])
def test_the_environment_of_cuda_is_set_before_mpi_starts(
    emulated: Emulated, preloaded: Path, tmp_path: Path, name: str
) -> None:
    program = emulated.programs / name
    words = [
        "saxpy",
        "--rounds",
        "1",
        "--oversubscribe",
        "--binding",
        "default",
        "--bytes",
        "1MiB",
        "--iterations",
        "2",
    ]
    if name == "emulated-contention":
        words = ["--tasks", "2", *SHORT]
    command = [*launcher(program, RANKS if name == "emulated-contention" else 2), str(program), *words]
    variables = emulated.environment(2) | {"LD_PRELOAD": str(preloaded)}
    document, said = run(
        command, {k: v for k, v in variables.items() if k not in os.environ or os.environ[k] != v}, tmp_path
    )
    assert document["exit_code"] == 0 and document["results"], said
    assert "late:" not in said
