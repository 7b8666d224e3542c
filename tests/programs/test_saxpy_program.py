"""nearfar-kernels saxpy with real ranks, its device in host memory: the pattern, POP's arithmetic, and every bad end."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.mpi import load_balance
from nearfar.topology import parse_cpu_list
from tests.support.launchers import environment, launcher, mpirun
from tests.support.suspension import suspend

HOST = ("saxpy", "--device", "host", "--bytes", "1MiB")
QUICK = (*HOST, "--iterations", "4")


@pytest.fixture(scope="module")
def program(build_folder: Path) -> Path:
    return build_folder / "bin" / "nearfar-kernels"


@pytest.fixture(scope="module")
def two_ranks(program: Path) -> dict[str, Any]:
    ran = mpirun(program, 2, *QUICK, "--rounds", "3", "--json")
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def test_the_document_is_valid_and_every_answer_was_verified(two_ranks: dict[str, Any]) -> None:
    document = measurement.document.from_raw(two_ranks)
    assert {result.subject for result in document.results} == {"saxpy/default", "saxpy/gpu"}
    assert all(result.quantity.startswith("saxpy.host.") and result.verified for result in document.results)
    assert not document.skipped and not document.failed
    assert len(load_balance.figures(document)) > 20


def test_the_efficiencies_follow_from_the_times_of_the_ranks(two_ranks: dict[str, Any]) -> None:
    """POP's arithmetic once more, from what the ranks did in each round."""
    known = load_balance.results(two_ranks)

    def samples(binding: str, what: str) -> list[list[float]]:
        return [part["rate"]["samples"] for part in known[binding, what]["flows"]]

    for binding in ("default", "gpu"):
        (balances,), (communication,), (parallel,), (times,) = (
            samples(binding, what)
            for what in ("load_balance", "communication_efficiency", "parallel_efficiency", "run_time")
        )
        for number, useful in enumerate(zip(*samples(binding, "useful"))):
            assert balances[number] == pytest.approx(statistics.mean(useful) / max(useful), rel=1e-5)
            assert communication[number] == pytest.approx(max(useful) / times[number], rel=1e-5)
            assert parallel[number] == pytest.approx(statistics.mean(useful) / times[number], rel=1e-5)
        for rank in range(2):
            steps = sum(samples(binding, what)[rank][0] for what in ("to_device", "compute", "to_host"))
            useful, waiting = samples(binding, "useful")[rank][0], samples(binding, "waiting")[rank][0]
            assert steps <= useful * 1.001
            assert useful + waiting <= times[0] * 1.001


def test_bindings_are_those_in_effect(two_ranks: dict[str, Any]) -> None:
    known, node = load_balance.results(two_ranks), measurement.document.from_raw(two_ranks).node
    homes = {rank["rank"]: rank["numa_node"] for rank in two_ranks["mpi"]["ranks"]}
    for number, part in enumerate(known["gpu", "useful"]["flows"]):
        home = node.numa_node(homes[number])
        assert home is not None and part["memory_nodes"] == [home.index]
        assert set(parse_cpu_list(part["cpus"])) <= set(home.cpus)
    launched = [rank["cpus"] for rank in two_ranks["mpi"]["ranks"]]
    assert [part["cpus"] for part in known["default", "useful"]["flows"]] == launched


def test_a_launchers_binding_is_taken_and_then_left(program: Path) -> None:
    first = min(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(first), *launcher(program, 1), str(program), *QUICK, "--rounds", "1", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment())
    assert ran.returncode == 0, ran.stderr
    known = load_balance.results(json.loads(ran.stdout))
    assert known["default", "useful"]["flows"][0]["cpus"] == str(first)
    if len(os.sched_getaffinity(0)) > 1:
        assert known["gpu", "useful"]["flows"][0]["cpus"] != str(first)


def test_no_second_numa_node_is_no_wrong_binding(program: Path, two_ranks: dict[str, Any]) -> None:
    if len(two_ranks["node"]["numa_nodes"]) > 1:
        pytest.skip("this machine has several NUMA nodes")
    ran = mpirun(program, 2, *QUICK, "--rounds", "1", "--binding", "gpu,wrong", "--json")
    document = json.loads(ran.stdout)
    assert ran.returncode == 0
    assert [(skip["cell"], skip["code"]) for skip in document["skipped"]] == [("saxpy/wrong", "unsupported")]
    assert {result["cell"] for result in document["results"]} == {"saxpy/gpu"}


@pytest.mark.parametrize(
    "words, said",
    [
        (["--device", "tpu"], "--device: 'tpu' is neither gpu nor host"),
        (["--binding", "near"], "--binding: 'near' is none of default, gpu, wrong"),
        (["--rounds", "0"], "--rounds needs a number from 1"),
        (
            ["--device", "host", "--json=/no/such/folder/x.json", "--rounds", "1", "--bytes", "4KiB"],
            "cannot be written",
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(program: Path, words: list[str], said: str) -> None:
    ran = mpirun(program, 2, "saxpy", *words)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.count(said) == 1, ran.stderr


def test_more_ranks_than_cores(program: Path, two_ranks: dict[str, Any]) -> None:
    ranks = len(os.sched_getaffinity(0)) + 1
    ran = mpirun(program, ranks, *QUICK)
    assert ran.returncode == 2
    assert f"{ranks} ranks on this host may use" in ran.stderr and "--oversubscribe" in ran.stderr
    ran = mpirun(program, ranks, *QUICK, "--rounds", "1", "--oversubscribe", "--json")
    assert ran.returncode == 0, ran.stderr
    assert len(load_balance.results(json.loads(ran.stdout))["gpu", "useful"]["flows"]) == ranks


def test_without_a_gpu_nothing_is_measured_and_the_document_says_why(program: Path) -> None:
    ran = mpirun(program, 1, "saxpy", "--json", "--gpus", "ffff:ff:1f.0")
    assert ran.returncode in (1, 3), ran.stderr
    document = measurement.loads(ran.stdout)
    assert not document.results
    (why,) = (*document.skipped, *document.failed)
    assert why.cell == "" and "rank 0 on " in why.reason


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_ends_the_others_within_seconds_and_the_document_says_so(
    program: Path, tmp_path: Path, victim: int
) -> None:
    file = tmp_path / "saxpy.json"
    words = [*launcher(program, 2), str(program), *HOST, "--rounds", "200", "--iterations", "500", f"--json={file}"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as run:
        ranks = wait_for_ranks(run.pid, program)
        time.sleep(1.5)
        os.kill(ranks[victim], signal.SIGKILL)
        began = time.monotonic()
        run.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert run.returncode != 0
    wait_until_gone(ranks.values())
    document = measurement.load(file)
    (failure,) = document.failed
    assert failure.code == "error"
    # Some launchers (MPICH's) kill rank 0 at once, before it can tell who died.
    told = f"rank {victim} on " in failure.reason and "died during saxpy/" in failure.reason
    assert told or "rank 0 was ended from outside during saxpy/" in failure.reason, failure.reason


def wait_for_ranks(parent: int, program: Path) -> dict[int, int]:
    """The processes of the ranks below a launcher, by rank: those that look after a document have no MPI threads."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            rank = _rank_of(entry, program) if entry.name.isdigit() else None
            # The first process of a rank is the rank itself; the one that it forks comes later.
            if rank is not None:
                found[rank] = min(found.get(rank, int(entry.name)), int(entry.name))
        if len(found) == 2:
            return found
        time.sleep(0.05)
    raise AssertionError(f"the ranks below process {parent} did not start")


def _rank_of(entry: Path, program: Path) -> int | None:
    try:
        if (entry / "exe").resolve() != program.resolve():
            return None
        variables = dict(v.split("=", 1) for v in (entry / "environ").read_text().split("\0") if "=" in v)
    except OSError:
        return None
    word = variables.get("OMPI_COMM_WORLD_RANK") or variables.get("PMI_RANK")
    return None if word is None else int(word)


def wait_until_gone(processes: Any) -> None:
    until = time.monotonic() + 5
    while any(Path(f"/proc/{number}/exe").exists() for number in processes):
        assert time.monotonic() < until, "a rank lives on"
        time.sleep(0.05)


def test_a_rank_that_hangs_is_told_and_ends_all(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "saxpy.json"
    words = [
        *launcher(program, 2),
        str(program),
        *HOST,
        "--rounds",
        "200",
        "--iterations",
        "500",
        "--timeout",
        "2",
        f"--json={file}",
    ]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as run:
        ranks = wait_for_ranks(run.pid, program)
        time.sleep(1.5)
        os.kill(ranks[1], signal.SIGSTOP)
        try:
            _, stderr = run.communicate(timeout=30)
        finally:
            for number in ranks.values():
                if Path(f"/proc/{number}").exists():
                    os.kill(number, signal.SIGKILL)
    assert b"saxpy/" in stderr and b"did not end within 2 s" in stderr
    (failure,) = measurement.load(file).failed
    assert failure.code == "hung_once"


def test_a_budget_leaves_out_a_suspension(program: Path) -> None:
    options = ("--device", "host", "--bytes", "4MiB", "--iterations", "20", "--rounds", "200", "--budget", "4")
    words = [*launcher(program, 2), str(program), "saxpy", *options]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as run:
        wait_for_ranks(run.pid, program)
        time.sleep(1)
        suspend(run.pid, 4)
        resumed = time.monotonic()
        _, stderr = run.communicate(timeout=60)
    assert run.returncode == 0, stderr
    assert time.monotonic() - resumed > 2, "3 s of the budget are left"
