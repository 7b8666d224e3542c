"""Who else used the machine, as the programs say it in their document."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.measurement import MachineUse, machine_uses
from tests.support.emulated import Emulated, emulated_programs


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[int]:
    """A process that does nothing but compute."""
    shell = shutil.which("sh")
    assert shell is not None
    (tmp_path / "a neighbour) 1").symlink_to(shell)
    running = subprocess.Popen([str(tmp_path / "a neighbour) 1"), "-c", "while :; do :; done"])
    yield running.pid
    running.kill()
    running.wait()


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def use_in(document: dict[str, Any]) -> MachineUse:
    """What a valid document says."""
    measurement.from_raw(document)
    (use,) = machine_uses(document)
    return use


def named_copy(program: Path, folder: Path) -> Path:
    """The program under a name that no process of another test has."""
    return Path(shutil.copy(program, folder / f"own-{os.getpid()}"))


def stream(program: Path) -> dict[str, Any]:
    command = [str(program), "--set", "host_memory_check", "--json", "--budget", "2"]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout))


def test_a_busy_neighbour_is_named(build_folder: Path, neighbour: int) -> None:
    before = cpu_seconds(neighbour)
    document = stream(build_folder / "bin" / "nearfar-copy")
    used = (cpu_seconds(neighbour) - before) / document["seconds"]
    use = use_in(document)
    assert use.others is not None and use.others > 0
    named = {process["pid"]: process for process in document["machine"]["busiest"]}
    if neighbour in named:
        assert named[neighbour]["command"] == "a neighbour) 1"
        assert 0.3 * used < named[neighbour]["cpus"] < 1.1
    else:  # three others were busier still
        assert len(named) == 3 and min(process.cpus for process in use.busiest) > 0.3 * used


def test_the_run_itself_is_no_neighbour(build_folder: Path, tmp_path: Path) -> None:
    program = named_copy(build_folder / "bin" / "nearfar-copy", tmp_path)
    document = stream(program)
    use = use_in(document)
    assert use.own > 0
    assert not [process for process in use.busiest if process.command == program.name]
    looks = document["machine"]["looks"]
    assert looks and looks[-1]["at"] <= document["seconds"] + 0.001
    assert all(look["own"] + look["others"] < 1.2 * (os.cpu_count() or 1) + 1 for look in looks)
    assert {"gpu_processes", "counters"} <= {entry["what"] for entry in document["machine"]["missing"]}


def test_tasks_and_aggressors_are_no_neighbours(emulated: Emulated, tmp_path: Path) -> None:
    program = named_copy(emulated.programs / "emulated-copy", tmp_path)
    for words in (["n0:g0/x2"], ["n0:g0", "--aggressor", "n0:g1"]):
        use = use_in(emulated.start([str(program), "--json", *words], 2, "").document())
        assert not [process for process in use.busiest if process.command == program.name]
        assert use.own > 0


CONTENTION = [
    "--json",
    "--oversubscribe",
    "--even-if-busy",
    "--rounds",
    "6",
    "--window",
    "0.05",
    "--sizes",
    "8B",
    "--flows",
    "h2d",
]
SAXPY = [
    "saxpy",
    "--json",
    "--oversubscribe",
    "--even-if-busy",
    "--rounds",
    "3",
    "--bytes",
    "64KiB",
    "--iterations",
    "2",
]


@pytest.mark.parametrize(
    ("program", "ranks", "gpus", "words"),
    [("emulated-contention", 3, 1, CONTENTION), ("emulated-kernels", 2, 2, SAXPY)],
)
def test_ranks_are_no_neighbours(emulated: Emulated, program: str, ranks: int, gpus: int, words: list[str]) -> None:
    document = emulated.run_ranks(program, ranks, *words, gpus=gpus, settings="other_processes=1").document()
    use = use_in(document)
    ours = {rank["pid"] for rank in document["mpi"]["ranks"]}
    assert not [process for process in document["machine"].get("busiest", []) if process["pid"] in ours]
    assert use.own > 0
    assert [(each.gpu, each.pid) for each in use.gpu_processes] == [(gpu, 2) for gpu in range(gpus)]


def test_processes_on_gpus_and_counters_of_links_are_told(emulated: Emulated) -> None:
    settings = "other_processes=1,mps_clients=0,nvlinks=4"
    document = emulated.run("--json", "--even-if-busy", "n0:g1", gpus=2, settings=settings).document()
    use_in(document)
    found = document["machine"]["gpu_processes"]
    assert [tuple(each[key] for key in ("gpu", "pid", "name", "when")) for each in found] == [
        (0, 2, "python3", "both"),
        (1, 2, "python3", "both"),
    ]
    counters = {(entry["gpu"], entry["name"]): entry for entry in document["machine"]["counters"]}
    assert counters[0, "pcie_replays"]["before"] == counters[0, "pcie_replays"]["after"] == 0
    replays = counters[1, "nvlink_replays"]
    assert replays["after"] > replays["before"] and replays["nvlinks"] == [2]
    assert "nvlinks" not in counters[1, "nvlink_crc_flit_errors"]


def test_it_is_told_however_the_run_ends(emulated: Emulated) -> None:
    settings = "other_processes=1,fault=cudaMemcpyAsync:20:kill"
    ended = emulated.run("--json", "--even-if-busy", "n0:g0", settings=settings)
    assert ended.code == 1
    use = use_in(ended.document())
    assert use.gpu_processes and use.others is not None
