"""nearfar-contention with real ranks: what it measures without a GPU, and how it ends when it cannot."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.launchers import environment, launcher, mpirun

SHORT = ("--rounds", "2", "--window", "0.05")
#: Two threads to a core where there are but two: the figures then say nothing, and the path is the same.
SHARED = () if (os.cpu_count() or 1) >= 8 else ("--oversubscribe",)


@pytest.fixture(scope="module")
def program(build_folder: Path) -> Path:
    return build_folder / "bin" / "nearfar-contention"


def measured(program: Path, ranks: int, folder: Path, *words: str) -> dict[str, Any]:
    """The document of a run, apart from what the launcher prints."""
    file = folder / "document.json"
    ran = mpirun(program, ranks, f"--json={file}", *SHORT, *words)
    assert file.exists(), ran.stderr
    document: dict[str, Any] = json.loads(file.read_text())
    document["exit_code"] = ran.returncode
    return document


def by_subject(document: dict[str, Any], quantity: str) -> dict[str, dict[str, Any]]:
    return {result["cell"]: result for result in document["results"] if result["quantity"] == quantity}


def test_communicators_alone_have_figures_of_their_own_name(program: Path, tmp_path: Path) -> None:
    document = measured(program, 2, tmp_path, "--mpi-only")
    assert document["exit_code"] == 0
    measurement.document.from_raw(document, "nearfar-contention")
    small = by_subject(document, "mpi.pingpong.latency")["within.mpi_only.1.pingpong_8B"]
    large = by_subject(document, "mpi.pingpong.latency")["within.mpi_only.1.pingpong_1MiB"]
    # Two ranks on one busy core wait for the scheduler: 8 bytes may then take longer than 1 MiB.
    assert small["total"]["median"] > 0
    assert large["total"]["median"] > 0
    assert by_subject(document, "mpi.stream.bandwidth")["within.mpi_only.1.stream_1MiB"]["total"]["median"] > 0
    (pair,) = small["flows"]
    assert (
        pair["percentiles"]["p50"]
        <= pair["percentiles"]["p95"]
        <= pair["percentiles"]["p99"]
        <= pair["percentiles"]["max"]
    )
    assert not any("osu" in result["quantity"] for result in document["results"])


def test_a_pair_on_a_numa_node_is_bound_and_has_its_messages_there(program: Path, tmp_path: Path) -> None:
    document = measured(program, 2, tmp_path, "--between", "0-0")
    if document["skipped"]:
        pytest.skip(document["skipped"][0]["reason"])
    assert document["exit_code"] == 0
    latency = by_subject(document, "mpi.pingpong.latency")["n0-n0/pingpong_8B"]
    (pair,) = latency["flows"]
    assert pair["cpus"].isdigit() and pair["partner_cpus"].isdigit() and pair["cpus"] != pair["partner_cpus"]
    assert [rank["cpus"] for rank in document["mpi"]["ranks"]] == [pair["cpus"], pair["partner_cpus"]], (
        "before MPI began"
    )
    assert pair.get("memory_nodes", [0]) == pair.get("partner_memory_nodes", [0]) == [0]
    assert by_subject(document, "mpi.stream.bandwidth")["n0-n0/stream_1MiB"]["total"]["median"] > 0


@pytest.mark.parametrize(
    ("ranks", "between", "told"),
    [
        (1, "0-0", "one rank has nobody to talk to"),
        (3, "0-0", "start 2 ranks, not 3"),
        (2, "0-999", "has no cores on NUMA node 999"),
        (2, "0", "expected the NUMA nodes of two ranks"),
    ],
)
def test_pairs_that_cannot_be_are_one_line(program: Path, ranks: int, between: str, told: str) -> None:
    ran = mpirun(program, ranks, "--between", between)
    assert ran.returncode != 0
    assert [line for line in ran.stderr.splitlines() if line.startswith("nearfar-contention: ") and told in line], (
        ran.stderr
    )


def test_the_bindings_in_effect_stand_beside_each_task(program: Path, tmp_path: Path) -> None:
    document = measured(program, 2, tmp_path, "--mpi-only")
    pair = document["results"][0]["flows"][0]
    assert pair["cpus"].isdigit() and pair["partner_cpus"].isdigit() and pair["cpus"] != pair["partner_cpus"]
    assert document["node"]["software"]["mpi"] == document["mpi"]["library"]
    assert document["contention"]["threads"] in ("MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE")


def test_beside_stream_each_kind_has_its_penalty(program: Path, tmp_path: Path) -> None:
    document = measured(program, 3, tmp_path, "--with", "stream", "--tasks", "1", *SHARED)
    assert document["exit_code"] == 0
    loaded = measurement.document.from_raw(document, "nearfar-contention")
    assert {result.quantity for result in loaded.results} == {
        "contention.mpi.latency", "contention.mpi.bandwidth", "contention.stream.bandwidth",
    }  # fmt: skip
    latency = by_subject(document, "contention.mpi.latency")["within.per_task.1.pingpong_8B"]
    assert {"penalty", "tail_penalty", "polled_penalty"} <= latency.keys()
    solo, together = latency["flows"][0]["solo"]["samples"], latency["flows"][0]["rate"]["samples"]
    written = [b / a - 1 for a, b in zip(solo, together)]  # of figures with seven digits: a difference loses some
    assert latency["flows"][0]["penalty"]["samples"] == pytest.approx(written, rel=1e-6, abs=1e-6)
    stream = by_subject(document, "contention.stream.bandwidth")["within.per_task.1.stream_1MiB"]
    assert stream["flows"][0]["memory_nodes"] and stream["flows"][0]["solo"]["median"] > 0
    assert stream["penalty"]["unit"] == "1"


def test_threads_that_cannot_be_split_are_measured_together(program: Path, tmp_path: Path) -> None:
    document = measured(program, 2, tmp_path, "--with", "stream", "--tasks", "1", "--layout", "together,split", *SHARED)
    assert document["contention"]["threads"] == "MPI_THREAD_MULTIPLE"
    assert by_subject(document, "contention.mpi.latency")["within.together.1.pingpong_1MiB"]["total"]["median"] > 0
    split = [cell for cell in by_subject(document, "contention.mpi.latency") if ".split." in cell]
    assert bool(split) != bool(document["skipped"]), "measured, or said why not"


def test_ranks_of_two_hosts_are_paired_across(program: Path, tmp_path: Path) -> None:
    """Two host names on one machine: another name for each rank, and a core each."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two host names need root, unshare and two CPUs")
    cpus = sorted(os.sched_getaffinity(0))
    file = tmp_path / "document.json"
    words: list[str] = []
    for name, cpu in (("nodea", cpus[0]), ("nodeb", cpus[1])):
        as_host = ["unshare", "-u", "sh", "-c", 'hostname "$0"; exec "$@"', name, "taskset", "-c", str(cpu)]
        words += [*([":"] if words else []), "-n", "1", *as_host, str(program), "--mpi-only", f"--json={file}", *SHORT]
    ran = subprocess.run(
        [*launcher(program, 1)[:-2], *words], capture_output=True, text=True, timeout=120, env=environment()
    )
    assert ran.returncode == 0, ran.stderr
    document = json.loads(file.read_text())
    assert [clock["host"] for clock in document["contention"]["clocks"]] == ["nodea", "nodeb"]
    clock = document["contention"]["clocks"][1]
    assert abs(clock["offset_seconds"]) <= clock["uncertainty_seconds"] + 1e-4, "it is one machine"
    assert document["results"][0]["cell"].startswith("across.")
    assert document["results"][0]["flows"][0]["hosts"] == ["nodea", "nodeb"]


@pytest.mark.parametrize(
    ("ranks", "words", "told"),
    [
        (1, ["--mpi-only"], "one rank has nobody to talk to"),
        (3, ["--mpi-only"], "cannot be paired"),
        (2, ["--no-such-option"], "unknown option"),
        (3, ["--with", "stream", "--tasks", "1", "--layout", "split"], "start 2 on each host, not 3"),
        (2, ["--mpi-only", "--json=/no/such/folder/document.json"], "cannot be written"),
    ],
)
def test_wrong_use_is_told_once_in_one_line(program: Path, ranks: int, words: list[str], told: str) -> None:
    ran = mpirun(program, ranks, *SHORT, *words)
    assert ran.returncode == 2, ran.stderr
    said = [line for line in ran.stderr.splitlines() if told in line]
    assert len(said) == 1, ran.stderr


def test_fewer_cores_than_threads_are_refused(program: Path) -> None:
    cores = os.cpu_count() or 1
    if cores > 16:
        pytest.skip("too many cores to start more ranks than there are")
    ranks = cores + 2 + cores % 2
    ran = mpirun(program, ranks, "--mpi-only", *SHORT)
    assert ran.returncode == 2
    assert "want a core each" in ran.stderr and "--oversubscribe" in ran.stderr


#: Stands in for an MPI that was built without support for threads: it says so, and is the real one in all else.
FAKE_MPI_WITHOUT_THREADS = """
#include <mpi.h>
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int result = PMPI_Init_thread(argc, argv, required, provided);
    *provided = MPI_THREAD_SERIALIZED;
    return result;
}
"""


def test_an_mpi_without_support_for_threads_is_refused_for_layouts_alone(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, library = tmp_path / "fake_mpi.c", tmp_path / "fake_mpi.so"
    source.write_text(FAKE_MPI_WITHOUT_THREADS)
    compiler = shutil.which("mpicc")
    if compiler is None or not program.exists():
        pytest.skip("no mpicc for the stand-in")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    words = ("--with", "stream", "--tasks", "1", "--layout", "together", *SHARED)
    refused = mpirun(program, 2, *SHORT, *words)
    assert refused.returncode == 2, refused.stderr
    told = "this MPI gives MPI_THREAD_SERIALIZED and MPI_THREAD_MULTIPLE is needed"
    assert len([line for line in refused.stderr.splitlines() if told in line]) == 1, refused.stderr
    assert mpirun(program, 2, *SHORT, "--mpi-only").returncode == 0, "ranks apart need no more"


def test_a_launcher_that_binds_is_told_how_not_to(program: Path) -> None:
    words = launcher(program, 2)
    if "--bind-to" not in words or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this MPI's launcher binds nothing, or there is one CPU")
    words[words.index("--bind-to") + 1] = "core"
    words.remove("--oversubscribe")
    command = [*words, str(program), "--mpi-only", *SHORT]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    assert ran.returncode == 2
    assert "the launcher bound the ranks" in ran.stderr and "--bind-to none" in ran.stderr


def test_without_a_gpu_it_says_what_else_there_is(program: Path, tmp_path: Path) -> None:
    if list(Path("/proc/driver").glob("nvidia")):
        pytest.skip("this machine has a GPU")
    document = measured(program, 2, tmp_path)
    assert document["exit_code"] == 3
    (skip,) = document["skipped"]
    assert "--mpi-only or --with stream" in skip["reason"]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_ends_the_others_and_the_document_says_so(program: Path, tmp_path: Path, victim: int) -> None:
    file = tmp_path / "document.json"
    command = [
        *launcher(program, 2),
        str(program),
        "--mpi-only",
        f"--json={file}",
        "--rounds",
        "1000",
        "--window",
        "0.05",
    ]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    try:
        os.kill(rank_process(file, victim), signal.SIGKILL)
        began = time.monotonic()
        assert run.wait(timeout=20) != 0
        assert time.monotonic() - began < 10
    finally:
        run.kill()
    for _ in range(50):
        if file.exists():
            break
        time.sleep(0.1)
    document = json.loads(file.read_text())
    (failed,) = document["failed"]
    assert failed["code"] == "error" and "rank" in failed["reason"]
    measurement.document.from_raw(document, "nearfar-contention")


def rank_process(file: Path, rank: int) -> int:
    """The process of a rank that has been measuring for a while, by its own argument and environment: the first, since a second
    one speaks for rank 0 and came later."""
    for _ in range(100):
        time.sleep(0.1)
        found = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _is_rank(folder, file, rank)]
        if found:
            time.sleep(1.5)
            return min(found)
    raise AssertionError(f"rank {rank} was not found")


def _is_rank(process: Path, file: Path, rank: int) -> bool:
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    wanted = {f"{name}={rank}".encode() for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")}
    return f"--json={file}".encode() in arguments and not wanted.isdisjoint(variables)
