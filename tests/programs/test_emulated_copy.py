"""nearfar-copy on emulated GPUs: its whole paths, and how it ends when any call of CUDA goes wrong."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.base.errors import NearfarError
from tests.support.emulated import Emulated, Ended, emulated_programs

#: The calls of one run of these are made to go wrong, one call a run.
CELLS = ("n0:g0/sm", "g0:n0", "g0:g1")
#: Runs at a time: most of each is waiting.
AT_ONCE = 8


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


def cells_of(document: dict[str, Any]) -> Counter[str]:
    """How often each cell is in the document."""
    found = [result["cell"] for result in document["results"]]
    return Counter(found + [entry["cell"] for name in ("skipped", "failed") for entry in document[name]])


def valid(ended: Ended) -> dict[str, Any]:
    """The document, after a look at its schema and at whether the exit code is that of what it says."""
    document = ended.document()
    measurement.document.from_raw(document, "emulated-copy")
    missed = [entry for entry in document["skipped"] if entry["code"] != "unsupported"]
    assert ended.code == (1 if document["failed"] else 3 if missed else 0)
    return document


def test_one_gpu(emulated: Emulated) -> None:
    document = valid(emulated.run("--json"))
    assert set(cells_of(document)) == {"n0:g0", "g0:n0", "n0:g0+g0:n0"} and not document["failed"] + document["skipped"]
    for result in document["results"]:
        assert result["verified"]
        for flow in result["flows"]:
            assert 0 < flow["rate"]["median"] < 1.1, "GB/s: the emulated rate, or less where the CPUs are busy"


def test_sixteen_gpus(emulated: Emulated) -> None:
    everyone = "+".join(f"n0:g{gpu}" for gpu in range(16))
    document = valid(emulated.run("--json", everyone, "g14:g15", "n0:g15", gpus=16, settings="to_gpu=1e8"))
    assert set(cells_of(document)) == {everyone, "g14:g15", "n0:g15"} and not document["failed"] + document["skipped"]
    assert [gpu["pci"] for gpu in document["node"]["gpus"]][-1] == "0000:1f:00.0"


@pytest.mark.parametrize(
    "words",
    [
        ["n0:g0/x2", "g0:g1/x2", "n0:g1/x2/threads", "n0:g0/x2+n0:g1/x2"],
        ["n0:g0/sm", "g0:g1@g1/sm", "g0:g1/staged", "g0:g1+g1:g0", "n0:g0/pageable"],
        ["n0:g0", "g0:g1", "--sizes", "4KiB,1MiB"],
        ["n0:g0", "g0:g1", "--latency"],
        ["--quick"],
        ["n0:g0", "--aggressor", "n0:g1"],
    ],
    ids=["tasks", "kinds", "sizes", "latency", "quick", "aggressor"],
)
def test_every_way_of_measuring(emulated: Emulated, words: list[str]) -> None:
    document = valid(emulated.run("--json", *words, gpus=2, settings="nvlinks=18"))
    assert document["results"] and not document["failed"] + document["skipped"]
    assert all(result["verified"] for result in document["results"] if result["quantity"] == "copy")


@pytest.mark.parametrize(
    ("settings", "codes"),
    [
        ("refusing=1", {"n0:g0": "", "n0:g1": "exclusive", "g0:g1": "exclusive"}),
        ("missing=1", {"n0:g0": "", "n0:g1": "lost", "g0:g1": "lost"}),
        ("peer_access=0", {"n0:g0": "", "n0:g1": "", "g0:g1": "unsupported"}),
        ("other_processes=1", {"n0:g0": "busy", "n0:g1": "busy", "g0:g1": "busy"}),
        ("count_error=35", {"n0:g0": "missing_library", "n0:g1": "missing_library", "g0:g1": "missing_library"}),
        ("memory=1048576", {"n0:g0": "no_memory", "n0:g1": "no_memory", "g0:g1": "no_memory"}),
        ("wrong=100", {"n0:g0": "wrong_data", "n0:g1": "wrong_data", "g0:g1": "wrong_data"}),
        ("process_is_lost=1,fault=*@1:60:lose_later=79", {"n0:g0": "", "n0:g1": "lost", "g0:g1": "lost"}),
    ],
    ids=lambda value: value.partition(",")[0] if isinstance(value, str) else "",
)
def test_what_the_gpus_do_not_do_is_told_by_its_code(emulated: Emulated, settings: str, codes: dict[str, str]) -> None:
    document = valid(emulated.run("--json", *codes, gpus=2, settings=settings))
    found = dict.fromkeys((result["cell"] for result in document["results"]), "")
    found |= {entry["cell"]: entry["code"] for name in ("skipped", "failed") for entry in document[name]}
    assert found == codes, document["failed"] + document["skipped"]


def test_a_task_that_is_killed_fails_its_cell_alone(emulated: Emulated) -> None:
    settings = f"in=task,once={emulated.folder / 'task-killed'},fault=cudaMemcpyAsync:20:kill"
    document = valid(emulated.run("--json", "n0:g0/x2", "n0:g0", settings=settings))
    assert [entry["cell"] for entry in document["failed"]] == ["n0:g0/x2"]
    assert [result["cell"] for result in document["results"]] == ["n0:g0"]


def test_what_a_process_that_dies_knew_of_its_gpus_and_sizes_is_kept(emulated: Emulated) -> None:
    once = emulated.folder / "dies-at-last"
    words = ["--json", "--sizes", "64KiB,1MiB", "n0:g0", "g0:g1/sm"]
    settings = f"once={once},fault=sm_copy:1:kill"
    ended = emulated.run(*words, gpus=2, settings=settings)
    document = ended.document()
    assert once.exists() and [entry["cell"] for entry in document["failed"]] == ["g0:g1/sm"], document["failed"]
    assert "n0:g0" in {curve["cell"] for curve in document["curves"]}
    assert [gpu["index"] for gpu in document["gpus_under_load"]] == [0, 1]


@pytest.fixture(scope="module")
def calls(emulated: Emulated) -> dict[str, int]:
    """How often each call is made in a run of CELLS."""
    listed = emulated.folder / "calls"
    valid(emulated.run("--json", *CELLS, gpus=2, settings=f"calls={listed}"))
    (file,) = listed.parent.glob("calls.*")
    lines = [line.split() for line in file.read_text().replace("\0", "").splitlines()]
    return {name: int(count) for name, count in lines}


def sweep(emulated: Emulated, calls: dict[str, int], fault: str, ends: bool) -> None:
    """Let each kind of call go wrong once, at the middle one of its calls; tell every run that did not end well."""

    def run(call: str) -> str | None:
        once = emulated.folder / f"{fault}-{call}"
        settings = f"once={once},fault={call}:{(calls[call] + 1) // 2}:{fault}"
        ended = emulated.run("--json", "--timeout", "2", *CELLS, gpus=2, settings=settings)
        try:
            document = valid(ended)
            found = cells_of(document)
            assert all(found[cell] == 1 for cell in CELLS), f"not each cell once: {dict(found)}"
            whole = {result["cell"] for result in document["results"]} == set(CELLS)
            failed, skipped = document["failed"], document["skipped"]
            told = len(failed) == 1 if ends else bool(failed or skipped)
            assert whole or told, f"what went wrong is not told once: {failed}"
        except (AssertionError, NearfarError) as error:
            return f"{call}: {error}".partition("\n")[0]
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(filter(None, pool.map(run, calls)))
    assert not wrong, f"{len(wrong)} of {len(calls)}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("fault", ["error=999", "lose=719"])
def test_an_error_of_any_call_ends_in_a_whole_document(emulated: Emulated, calls: dict[str, int], fault: str) -> None:
    sweep(emulated, calls, fault, ends=False)


@pytest.mark.parametrize("fault", ["hang", "abort", "kill"])
def test_an_end_in_any_call_leaves_a_whole_document(emulated: Emulated, calls: dict[str, int], fault: str) -> None:
    sweep(emulated, calls, fault, ends=True)
