"""nearfar-copy on real GPUs: what it measures, and how it ends when it cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.cells import parse
from tests.support.processes import tasks_of

pytestmark = pytest.mark.gpu

ABSENT = "ffff:ff:1f.0"


#: Cells of one GPU that take several seconds together.
MANY = [
    "+".join(flows)
    for option in ("/pageable", "/sm", "")
    for flows in ([f"n0:g0{option}"], [f"g0:n0{option}"], [f"n0:g0{option}", f"g0:n0{option}"])
]


def copy(build: Path, *words: str, **environment: str) -> tuple[int, dict[str, Any], str]:
    command = [str(build / "bin" / "nearfar-copy"), "--json", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else {}, ran.stderr


@pytest.fixture(scope="module")
def matrix(build_folder: Path) -> dict[str, Any]:
    code, document, stderr = copy(build_folder)
    assert code == 0, stderr
    return document


def test_the_matrix_is_a_valid_document_with_every_pair(matrix: dict[str, Any]) -> None:
    document = measurement.document.from_raw(matrix, "nearfar-copy")
    gpus = [gpu["index"] for gpu in matrix["node"]["gpus"]]
    memory = [n["index"] for n in matrix["node"]["numa_nodes"] if n["kind"] == "host" and n["memory"] > 0]
    wanted = {
        parse(text.format(n=n, g=g))
        for g in gpus
        for n in memory
        for text in ("n{n}:g{g}", "g{g}:n{n}", "n{n}:g{g}+g{g}:n{n}")
    }
    assert {result.cell for result in document.results} == wanted
    assert not matrix["skipped"] and not matrix["failed"]


def test_every_lone_cell_is_verified_below_its_ceiling_and_bound(matrix: dict[str, Any]) -> None:
    for result in matrix["results"]:
        assert result["verified"], result["cell"]
        for flow in result["flows"]:
            assert flow["ceiling"] is None or 0.3 * flow["ceiling"] < flow["rate"]["median"] <= flow["ceiling"], flow[
                "flow"
            ]
            assert flow["memory_nodes"] == [parse(flow["flow"]).flows[0].numa_node], flow["flow"]
            assert flow["link"]["width"], f"{flow['flow']}: the link's state under load is missing"


def test_both_directions_stand_beside_each_alone(matrix: dict[str, Any]) -> None:
    for result in measurement.document.from_raw(matrix, "nearfar-copy").raw["results"]:
        if len(result["flows"]) == 2:
            for flow in result["flows"]:
                assert flow["rate"]["median"] <= 1.02 * flow["solo"]["median"], f"{flow['flow']} in {result['cell']}"
            total = sum(flow["rate"]["median"] for flow in result["flows"])
            assert result["total"]["median"] == pytest.approx(total, rel=0.02)


def test_kernels_pageable_memory_and_tasks_are_measured(build_folder: Path) -> None:
    cells = ["n0:g0/sm", "g0:n0/sm", "n0:g0/pageable", "n0:g0/x2", "n0:g0/x2/threads"]
    code, document, stderr = copy(build_folder, *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    rate = {result["cell"]: result["total"]["median"] for result in document["results"]}
    assert rate["n0:g0/pageable"] < rate["n0:g0/sm"], "pageable copies are staged by the driver"
    for result in document["results"]:
        if "/x2" in result["cell"]:
            assert result["flows"][0]["tasks"]["n"] == 2
            assert result["total"]["median"] == pytest.approx(result["flows"][0]["solo"]["median"], rel=0.15)


def are_gone(processes: list[int]) -> bool:
    """Does none of the processes run any more?"""
    return not any(Path(f"/proc/{process}/exe").exists() for process in processes)


def start_sharing(build: Path, *cells: str) -> subprocess.Popen[str]:
    """A nearfar-copy that measures cells with /x4; it has four tasks and says its first cell when this returns."""
    command = [str(build / "bin" / "nearfar-copy"), "--json", *cells]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    running.stderr.readline()
    assert len(tasks_of(running.pid)) == 4, "all tasks are there before the first cell, and no more"
    return running


def test_tasks_are_started_once_for_all_cells(build_folder: Path, matrix: dict[str, Any]) -> None:
    gpus = range(len(matrix["node"]["gpus"]))
    cells = ["+".join(f"n0:g{gpu}/x{tasks}" for gpu in gpus) for tasks in (4, 2, 3)]
    cells += ["+".join(f"g{gpu}:n0/x{tasks}" for gpu in gpus) for tasks in (2, 4)]
    code, document, stderr = copy(build_folder, *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    assert [result["cell"] for result in document["results"]] == cells
    for result in document["results"]:
        assert result["verified"]
        for flow in result["flows"]:
            fair = flow["rate"]["median"] / flow["tasks"]["n"]
            assert 0.5 * fair < flow["tasks"]["min"] <= flow["tasks"]["max"] < 1.5 * fair, flow["flow"]
    print("set-up", document["setup_seconds"], "cells", [result["seconds"] for result in document["results"]])
    assert sum(result["seconds"] for result in document["results"]) < 1.5 * len(cells), "no cell starts processes"
    assert document["seconds"] < 15


def test_tasks_of_pairs_kernels_and_other_memory(build_folder: Path, matrix: dict[str, Any]) -> None:
    cells = ["n0:g0/sm/x2", "n0:g0/pageable/x2", "n0:g0/x2+g0:n0/x2"]
    memory = [n["index"] for n in matrix["node"]["numa_nodes"] if n["kind"] == "host" and n["memory"] > 0]
    cells += [f"n{memory[-1]}:g0/x2"]
    if len(matrix["node"]["gpus"]) > 1:
        cells += ["g0:g1/x2", "g0:g1/staged/x2", "g0:g1@g1/x2"]
    code, document, stderr = copy(build_folder, *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    assert all(result["verified"] for result in document["results"])
    assert {parse(result["cell"]) for result in document["results"]} == {parse(cell) for cell in cells}


def test_a_task_that_dies_fails_its_cell_alone(build_folder: Path) -> None:
    running = start_sharing(build_folder, "n0:g0/x4", "g0:n0/x4", "n0:g0/x3", "g0:n0/x3", "n0:g0")
    os.kill(tasks_of(running.pid)[1], signal.SIGKILL)
    stdout, _ = running.communicate(timeout=60)
    document = json.loads(stdout)
    assert running.returncode == 1
    (failed,) = document["failed"]
    assert failed["code"] == "error" and "a task on g0 ended" in failed["reason"] and "Killed" in failed["reason"]
    assert len(document["results"]) == 4, "the task is replaced and the rest is measured"


def test_tasks_end_with_their_program_however_it_ends(build_folder: Path) -> None:
    for end in (signal.SIGKILL, signal.SIGTERM):
        running = start_sharing(build_folder, "n0:g0/x4", "g0:n0/x4", "n0:g0/x3", "g0:n0/x3")
        tasks = tasks_of(running.pid)
        running.send_signal(end)
        running.communicate(timeout=20)
        last = time.monotonic() + 5
        while not are_gone(tasks) and time.monotonic() < last:
            time.sleep(0.01)
        assert are_gone(tasks), f"tasks outlive a program that ends by {end.name}"


def peers(matrix: dict[str, Any]) -> tuple[str, str]:
    if len(matrix["node"]["gpus"]) < 2:
        pytest.skip("needs two GPUs")
    return "g0", "g1"


def test_peers_write_read_and_stage(build_folder: Path, matrix: dict[str, Any]) -> None:
    a, b = peers(matrix)
    cells = [f"{a}:{b}", f"{a}:{b}@{b}", f"{a}:{b}/sm", f"{a}:{b}/staged", f"{a}:{b}+{b}:{a}"]
    code, document, stderr = copy(build_folder, *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    if document["skipped"]:
        pytest.skip(document["skipped"][0]["reason"])
    rates = [result["total"]["median"] for result in document["results"]]
    direct, read, kernel, staged, both = rates
    assert all(result["verified"] for result in document["results"])
    assert staged < 0.5 * min(direct, read, kernel) or not document["node"]["peers"], "staged goes through the host"
    steady = document["results"][0]["total"]["steadiness"]
    assert steady > 0.98, "its visits lie between those of the staged cell: peer access is given back"
    assert both > 1.5 * direct or not document["node"]["peers"]
    for result in document["results"]:
        for flow in result["flows"]:
            assert flow["ceiling"] is None or 0.8 * flow["ceiling"] < flow["rate"]["median"] < flow["ceiling"]


def test_within_one_gpu_copies_are_verified_and_below_what_its_memory_carries(
    build_folder: Path, matrix: dict[str, Any]
) -> None:
    gpus = [gpu["index"] for gpu in matrix["node"]["gpus"]]
    cells = [*(f"g{gpu}:g{gpu}" for gpu in gpus), "g0:g0/sm", "g0:g0+n0:g0", "g0:g0/x2"]
    code, document, stderr = copy(build_folder, *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    measurement.document.from_raw(document, "nearfar-copy")
    assert [result["cell"] for result in document["results"]] == cells
    for result in document["results"]:
        assert result["verified"]["seen"] == result["verified"]["copies"] > 0, result["cell"]
        for flow in result["flows"]:
            assert flow["rate"]["median"] > 0, flow["flow"]
            assert flow["ceiling"] is None or flow["rate"]["median"] < flow["ceiling"], flow["flow"]
    first, again = document["results"][0]["flows"][0], copy(build_folder, "g0:g0")[1]["results"][0]["flows"][0]
    down = {result["cell"]: result["total"]["median"] for result in matrix["results"]}["n0:g0"]
    print("within one GPU", first["rate"]["median"], "of", first["ceiling"], "again", again["rate"]["median"])
    assert first["ceiling"] is not None, "CUDA tells the clock and the width of the memory"
    assert 0.5 * first["ceiling"] < first["rate"]["median"], "a copy engine, or the kernel of the driver"
    assert first["rate"]["median"] > down, "the memory is faster than the link"
    assert first["rate"]["median"] == pytest.approx(again["rate"]["median"], rel=0.05)
    assert document["results"][0]["method"] == "latched" and document["results"][0]["bytes"] >= 512 << 20


def test_within_one_gpu_a_curve_and_latencies(build_folder: Path) -> None:
    code, document, stderr = copy(build_folder, "g0:g0", "g0:g0/sm", "--sizes", "4KiB..64MiB")
    assert code == 0, stderr
    rates = [result["total"]["median"] for result in document["results"] if result["cell"] == "g0:g0"]
    assert len(rates) == 15 and rates[-1] > 10 * rates[0]
    code, document, stderr = copy(build_folder, "--latency", "g0:g0")
    assert code == 0, stderr
    time_of = {result["quantity"]: result["total"]["median"] for result in document["results"]}
    assert 0.1 < time_of["latency.chase"] < 2, "a load from its own memory"


def test_a_pair_is_not_staged_and_direct_at_once(build_folder: Path, matrix: dict[str, Any]) -> None:
    a, b = peers(matrix)
    _, document, _ = copy(build_folder, f"{a}:{b}+{b}:{a}/staged")
    assert document["skipped"][0]["code"] == "unsupported"
    assert "on and off in one cell" in document["skipped"][0]["reason"]


def test_a_curve_grows_with_size(build_folder: Path) -> None:
    code, document, stderr = copy(build_folder, "n0:g0", "n0:g0+g0:n0", "--sizes", "4KiB..64MiB")
    assert code == 0, stderr
    rates = [result["total"]["median"] for result in document["results"]]
    assert [result["bytes"] for result in document["results"]] == [4096 << i for i in range(15)]
    assert rates[-1] > 10 * rates[0]
    (curve,) = document["curves"]
    assert 4096 < curve["half_bandwidth_bytes"] < 4 << 20
    assert document["skipped"][0]["cell"] == "n0:g0+g0:n0", "only lone flows have a curve"


def test_three_latencies_that_are_not_mixed(build_folder: Path, matrix: dict[str, Any]) -> None:
    cells = ["n0:g0", "g0:n0", *(["g0:g1"] if len(matrix["node"]["gpus"]) > 1 else [])]
    code, document, stderr = copy(build_folder, "--latency", *cells)
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    measurement.document.from_raw(document, "nearfar-copy")
    time_of = {(result["cell"], result["quantity"]): result["total"]["median"] for result in document["results"]}
    assert {unit for result in document["results"] for unit in [result["total"]["unit"]]} == {"us"}
    for cell in cells:
        assert 0.3 < time_of[cell, "latency.chase"] < 5, "a load over the bus"
        assert 1 < time_of[cell, "latency.launch"] < 100
        assert time_of[cell, "latency.copy"] > time_of[cell, "latency.chase"]


def test_an_absent_gpu_fails_its_cells_and_renumbers_nothing(build_folder: Path, matrix: dict[str, Any]) -> None:
    first = matrix["node"]["gpus"][0]["pci"]
    code, document, _ = copy(build_folder, f"--gpus={ABSENT},{first}", "n0:g0", "n0:g1")
    assert code == 1
    assert [(entry["cell"], entry["code"]) for entry in document["failed"]] == [("n0:g0", "absent")]
    assert [result["cell"] for result in document["results"]] == ["n0:g1"]
    assert document["node"]["gpus"][1]["pci"] == first


def test_a_hidden_gpu_is_denied_not_missing(build_folder: Path) -> None:
    code, document, _ = copy(build_folder, "n0:g0", CUDA_VISIBLE_DEVICES="")
    assert code == 3
    assert document["skipped"][0]["code"] == "denied"
    assert "CUDA_VISIBLE_DEVICES" in document["skipped"][0]["reason"]


def test_a_busy_gpu_is_said_to_be_busy(build_folder: Path) -> None:
    other = subprocess.Popen(
        [str(build_folder / "bin" / "nearfar-copy"), *MANY],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        time.sleep(4)
        code, document, _ = copy(build_folder, "n0:g0")
    finally:
        other.kill()
        other.wait()
    if not document["skipped"]:
        pytest.skip("NVML shows no processes here (a virtual machine or container may hide them)")
    assert (code, document["skipped"][0]["code"]) == (3, "busy")


def test_ctrl_c_leaves_a_whole_document(build_folder: Path) -> None:
    command = [str(build_folder / "bin" / "nearfar-copy"), "--json", *MANY]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while line := running.stderr.readline():
        if line.startswith("3/"):
            break
    running.send_signal(signal.SIGINT)
    stdout, _ = running.communicate(timeout=20)
    document = json.loads(stdout)
    assert running.returncode == 3
    assert {entry["code"] for entry in document["skipped"]} == {"interrupted"}
    assert document["results"] and len(document["results"]) + len(document["skipped"]) == len(MANY)


def test_a_hang_ends_with_what_was_measured(build_folder: Path) -> None:
    code, document, stderr = copy(build_folder, "--timeout=0.05", "n0:g0")
    assert code == 1
    assert document["failed"][0]["code"] == "hang"
    assert stderr.strip().splitlines()[-1].startswith("hang: ")


@pytest.mark.parametrize(
    "words, named",
    [(["n0:g99"], "g99"), (["n99:g0"], "n99"), (["n0:q0"], "column 4"), (["c0:n0"], "column")],
)
def test_wrong_use_is_one_line(build_folder: Path, words: list[str], named: str) -> None:
    code, document, stderr = copy(build_folder, *words)
    assert (code, document) == (2, {})
    assert named in stderr
    assert len(stderr.strip().splitlines()) == 1
