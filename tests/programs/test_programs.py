"""The programs as a user meets them on a machine without a GPU."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from nearfar import measurement
from nearfar.cells import host_device_matrix, stream_matrix
from nearfar.topology.inventory import observe


def run(build: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(build / "bin" / program), *words], capture_output=True, text=True, timeout=120)


def test_help_has_examples_and_exit_codes(build_folder: Path) -> None:
    ran = run(build_folder, "nearfar-copy", "--help")
    assert ran.returncode == 0
    assert "examples:" in ran.stdout and "exit codes:" in ran.stdout


def test_stream_measures_this_machine(build_folder: Path) -> None:
    cpus = observe().numa_nodes[0].index
    cell = f"c{cpus}:n{cpus}/copy"
    ran = run(build_folder, "nearfar-copy", cell, "--json", "--budget", "2")
    assert ran.returncode == 0, ran.stderr
    document = measurement.loads(ran.stdout, "nearfar-copy")
    (result,) = document.results
    assert str(result.cell) == cell
    flow = json.loads(ran.stdout)["results"][0]["flows"][0]
    assert flow["memory_nodes"] == [cpus]
    assert flow["best"] >= flow["rate"]["median"] > 0


@pytest.mark.parametrize("after", [0.0, 0.15, 0.3])
def test_ctrl_c_leaves_whole_cells_and_names_the_others(build_folder: Path, after: float) -> None:
    """The cell at hand too: a sample or two are no figure, even where it is the last one."""
    node = observe().numa_nodes[0].index
    command = [
        str(build_folder / "bin" / "nearfar-copy"),
        "--json",
        *[f"c{node}:n{node}/{kernel}" for kernel in ("copy", "add", "triad")],
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while line := running.stderr.readline():
        if line.startswith("3/3"):
            break
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    stdout, _ = running.communicate(timeout=20)
    document = json.loads(stdout)
    assert all(result["total"]["n"] >= 6 or not result["converged"] for result in document["results"])
    assert {skip["code"] for skip in document["skipped"]} <= {"interrupted"}
    assert len(document["results"]) + len(document["skipped"]) == 3
    assert running.returncode == (3 if document["skipped"] or document.get("interrupted") else 0)


def test_the_programs_and_python_generate_the_same_matrices(build_folder: Path) -> None:
    node = observe()
    listed = run(build_folder, "nearfar-copy", "--set", "host_memory_check", "--list").stdout.split()
    assert listed == [str(cell) for cell in stream_matrix(node)]
    listed = run(build_folder, "nearfar-copy", "--list").stdout.split()
    assert listed == [str(cell) for cell in host_device_matrix(node)[0]]


def test_a_list_without_gpus_says_why_it_is_empty(build_folder: Path) -> None:
    if observe().gpus:
        pytest.skip("needs a node without GPUs")
    ran = run(build_folder, "nearfar-copy", "--list")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == "nearfar-copy: this node has no NVIDIA GPU on its PCI bus: no cell to list\n"


@pytest.mark.parametrize(
    "words, named",
    [
        (["c99:n0/copy"], "no c99"),
        (["c0:n99/copy"], "no n99"),
        (["c0:n0"], "column 6"),
        (["--cells", "/nowhere"], "/nowhere"),
        (["--budget", "0"], "--budget"),
        (["--nosuch"], "--nosuch"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(build_folder: Path, words: list[str], named: str) -> None:
    ran = run(build_folder, "nearfar-copy", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert named in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_document_file_is_written_whole_or_not_at_all(build_folder: Path, tmp_path: Path) -> None:
    ran = run(build_folder, "nearfar-copy", "c0:n0/copy", "--budget=1", f"--json={tmp_path}/no/such/folder.json")
    assert ran.returncode == 2
    assert "cannot be written" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_copy_without_a_gpu_measures_nothing_and_says_so(build_folder: Path) -> None:
    if observe().gpus:
        pytest.skip("needs a node without GPUs")
    ran = run(build_folder, "nearfar-copy", "--json")
    assert ran.returncode == 3
    assert "no NVIDIA GPU" in json.loads(ran.stdout)["skipped"][0]["reason"]


@pytest.mark.parametrize(
    "words, named",
    [
        (["--aggressor", "n0:q0"], "--aggressor: cell 'n0:q0', column 4"),
        (["--aggressor"], "--aggressor needs a value"),
        (["--aggressor", "n0:g99"], "--aggressor n0:g99: there is no g99"),
        (["--aggressor", "c0:n0/triad"], "STREAM is no background load"),
        (["--quick", "--latency"], "--quick"),
        (["--sizes", "1KiB", "--quick"], "--quick"),
    ],
)
def test_wrong_use_of_quick_and_aggressor(build_folder: Path, words: list[str], named: str) -> None:
    ran = run(build_folder, "nearfar-copy", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert named in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
