"""STREAM on emulated GPUs: every kernel and memory, what is wrong is seen, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, emulated_programs

KERNELS = ("copy", "scale", "add", "triad", "dot", "read", "write", "fill")
#: Bytes of the emulation's arrays in a GPU's memory and in the host's.
ON_GPU, ON_HOST = 1 << 20, 512 << 10


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


def measured(emulated: Emulated, *words: str, gpus: int = 2, settings: str = "") -> tuple[int, dict[str, Any]]:
    """The exit code and the document of nearfar-copy with two visits to each cell."""
    program = str(emulated.programs / "emulated-copy")
    ended = emulated.start([program, *words, "--rounds", "2", "--json"], gpus, settings)
    document = ended.document()
    measurement.document.from_raw(document, "emulated-copy")
    return ended.code, document


def test_every_kernel_and_memory(emulated: Emulated) -> None:
    own = [f"g0:g0/{kernel}" for kernel in KERNELS]
    others = ["g0:n0/triad", "g0:n0/read", "g0:g1/write", "g1:g0/dot"]
    together = ["g0:g0/triad+g1:g1/triad", "g0:g0/add+g1:g0/read"]
    code, document = measured(emulated, *own, *others, *together)
    assert (code, document["skipped"], document["failed"]) == (0, [], [])
    results = {result["cell"]: result for result in document["results"]}
    assert set(results) == {*own, *others, *together}
    for cell, result in results.items():
        assert result["quantity"] == "stream" and result["method"] == ("windowed" if "+" in cell else "latched")
        assert result["bytes"] == (ON_HOST if ":n0" in cell else ON_GPU) and "smaller" not in result
        assert result["verified"]["copies"] > 10, "every pass is counted"
        if "+" not in cell:
            assert result["verified"]["seen"] >= result["verified"]["copies"] / 3, "each lap's passes are seen"
    assert all(flow["ceiling"] == 12.8 for cell in own for flow in results[cell]["flows"]), "clock x width x 2"
    assert results["g0:n0/triad"]["flows"][0]["memory_nodes"] == [0]
    assert len(document["gpus_under_load"]) == 2


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_wrong_byte_fails_the_cell(emulated: Emulated, kernel: str) -> None:
    code, document = measured(emulated, f"g0:g0/{kernel}", gpus=1, settings="wrong=100")
    assert code == 1 and [entry["code"] for entry in document["failed"]] == ["wrong_data"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_pass_that_was_left_out_is_seen(emulated: Emulated, kernel: str) -> None:
    code, document = measured(emulated, f"g0:g0/{kernel}", gpus=1, settings="leave_out_latched=4")
    assert code == 1 and [entry["code"] for entry in document["failed"]] == ["wrong_data"], kernel


def test_of_too_little_memory_a_smaller_size_is_taken_and_said(emulated: Emulated) -> None:
    code, document = measured(emulated, "g0:g0/triad", gpus=1, settings=f"memory={9 << 20}")
    (result,) = document["results"]
    assert code == 0 and result["bytes"] < ON_GPU
    assert (
        result["smaller"].startswith("arrays of 0 MiB in the place of 1 MiB") and "memory are free" in result["smaller"]
    )


def test_memory_that_is_full_is_said(emulated: Emulated) -> None:
    code, document = measured(emulated, "g0:g0/triad", gpus=1, settings=f"memory={4 << 20}")
    (skipped,) = document["skipped"]
    assert (code, skipped["code"]) == (3, "no_memory") and "too few for three arrays" in skipped["reason"]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("other_processes=1", "busy"),
        ("peer_access=0", "unsupported"),
        ("refusing=1", "exclusive"),
        ("fault=stream@1:5:lose=719", "lost"),
    ],
)
def test_what_cannot_be_measured_is_said_and_the_rest_is(emulated: Emulated, settings: str, code: str) -> None:
    _, document = measured(emulated, "g0:g0/triad", "g1:g1/triad", "g1:g0/read", settings=settings)
    missed = {entry["cell"]: entry["code"] for name in ("skipped", "failed") for entry in document[name]}
    assert code in missed.values()
    if code != "busy":
        assert "g0:g0/triad" in [result["cell"] for result in document["results"]]


def test_cores_and_gpus_in_one_run(emulated: Emulated) -> None:
    code, document = measured(emulated, "c0:n0/triad", "g0:g0/triad", gpus=1)
    assert code == 0 and {result["cell"] for result in document["results"]} == {"c0:n0/triad", "g0:g0/triad"}


def test_cores_and_gpus_in_one_cell_are_refused(emulated: Emulated) -> None:
    ended = emulated.start([str(emulated.programs / "emulated-copy"), "c0:n0/triad+g0:g0/triad"], 1, "")
    assert (
        ended.code == 2
        and "shares a cell with no copy and no cores" in ended.errors
        and len(ended.errors.splitlines()) == 1
    )


@pytest.mark.parametrize(
    ("share", "of"), [("one", lambda n: 1), ("half", lambda n: n // 2), ("butone", lambda n: n - 1)]
)
def test_so_many_cores(emulated: Emulated, share: str, of: Any) -> None:
    code, document = measured(emulated, "c0:n0/triad", f"c0:n0/triad/{share}", gpus=0)
    results = {result["cell"]: result["flows"][0]["cpus"] for result in document["results"]}
    if code == 3:
        assert "one core" in document["skipped"][0]["reason"]
        return
    everyone = cpus(results["c0:n0/triad"])
    assert len(cpus(results[f"c0:n0/triad/{share}"])) == of(len(everyone))


def cpus(text: str) -> set[int]:
    """The CPUs of Linux's list form."""
    parts = [part.partition("-") for part in text.split(",")]
    return {cpu for first, _, last in parts for cpu in range(int(first), int(last or first) + 1)}


def test_cores_beside_an_aggressor_use_its_gpu(emulated: Emulated) -> None:
    code, document = measured(emulated, "c0:n0/triad", "--aggressor", "n0:g0", gpus=1)
    (result,) = document["results"]
    assert code == 0 and [entry["flow"] for entry in result["aggressors"]] == ["n0:g0"]
    assert document["node"]["software"]["cuda"], "a run with an aggressor needs CUDA, and says which"
