"""Nobody healthy fails and nobody sick is anonymous: runs that are suspended, GPUs that hang or abort while they are set up or measured."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from tests.support.emulated import Emulated, Ended, emulated_programs
from tests.support.suspension import suspend, tree_of

#: What every program is to call the second of the emulated GPUs.
SICK = "g1 (0000:11:00.0)"
COPIES = ("n0:g0", "n0:g1", "g1:g0", "g2:g0")


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


def valid(ended: Ended) -> dict[str, Any]:
    """The document, after a look at its schema."""
    document = ended.document()
    measurement.document.from_raw(document, "emulated")
    return document


def subjects(document: dict[str, Any]) -> set[str]:
    return {str(result.get("cell") or result["subject"]) for result in document["results"]}


@pytest.mark.parametrize("program", ["copy", "kernels", "sustained"])
def test_a_suspended_run_goes_on(emulated: Emulated, program: str) -> None:
    words = {
        "copy": ["n0:g0", "g0:n0", "n0:g0/x2", "n0:g0+g0:n0"],
        "kernels": ["g0.n0/triad", "--size=paper", "--rounds=8"],
        "sustained": ["--sustain=4", "--size=small"],
    }[program]
    command = [
        str(emulated.programs / f"emulated-{'copy' if program == 'copy' else 'kernels'}"),
        "--json",
        "--timeout",
        "2",
        *words,
    ]
    child = subprocess.Popen(
        command, env=emulated.environment(1), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(1)
    suspend(child.pid, 4)
    output, errors = child.communicate(timeout=60)
    document = valid(Ended(child.returncode, output, errors))
    wrong = document["failed"] + document["skipped"]
    assert child.returncode == 0 and not wrong, f"{wrong} {errors}"
    # On a busy machine the supervisor may stand still once more, for a second or two.
    assert any(note["code"] == "suspended" and " 4 s" in note["reason"] for note in document["notes"]), document[
        "notes"
    ]
    slowest = min((flow["rate"]["median"] for each in document["results"] for flow in each.get("flows", [])), default=1)
    assert slowest > 0.2, "the sample that was cut is left out"


@pytest.mark.parametrize("kind", ["hang", "abort"])
@pytest.mark.parametrize("call", ["cudaFree", "cudaMalloc", "load_kernels"])
def test_a_gpu_that_dies_in_set_up_has_a_name(emulated: Emulated, call: str, kind: str) -> None:
    words = ["--json", "--timeout", "2", *COPIES]
    document = valid(emulated.run(*words, gpus=3, settings=f"fault={call}@1:1:{kind}"))
    assert {entry["cell"] for entry in document["failed"]} == {"n0:g1", "g1:g0"}
    assert all(entry["reason"].startswith(SICK) for entry in document["failed"])
    assert {entry["code"] for entry in document["failed"]} == {"hang" if kind == "hang" else "error"}
    assert subjects(document) == {"n0:g0", "g2:g0"}


def test_two_sick_gpus_before_healthy_ones_have_names(emulated: Emulated) -> None:
    faults = "fault=cudaMalloc@0:1:abort,fault=cudaMalloc@1:1:abort"
    document = valid(
        emulated.run("--json", "--timeout", "2", "n0:g0", "n0:g1", "n0:g2", "n0:g3", gpus=4, settings=faults)
    )
    assert [(entry["cell"], entry["reason"][:2]) for entry in document["failed"]] == [("n0:g0", "g0"), ("n0:g1", "g1")]
    assert subjects(document) == {"n0:g2", "n0:g3"}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("copy", ["g0:g2", "g0:g1"]),
        ("copy", ["g0:g0/triad", "g0:g1/triad"]),
        ("kernels", ["g0.n0/triad", "g1.n0/triad", "--size=small"]),
    ],
)
def test_so_it_has_in_other_programs(emulated: Emulated, program: str, words: list[str]) -> None:
    command = [str(emulated.programs / f"emulated-{program}"), "--json", "--timeout", "2", *words]
    document = valid(emulated.start(command, 3, "fault=cudaMalloc@1:1:hang"))
    (failure,) = document["failed"]
    assert words[1] in failure["cell"] and failure["reason"].startswith(SICK) and failure["code"] == "hang"
    assert len(subjects(document)) == 1


def test_a_gpu_is_given_up_when_it_has_hung_twice(emulated: Emulated) -> None:
    begin = time.monotonic()
    words = ["--json", "--timeout", "2", "n0:g0", "n0:g1/sm", "g1:n0/sm", "g1:g0/sm", "g1:g1/sm"]
    document = valid(emulated.run(*words, gpus=2, settings="fault=sm_copy@1:1:hang"))
    assert {entry["cell"] for entry in document["failed"]} == set(words[4:])
    assert all(f"{SICK} hung twice" in entry["reason"] for entry in document["failed"])
    assert subjects(document) == {"n0:g0"} and time.monotonic() - begin < 15


def test_what_hung_once_is_measured_and_noted(emulated: Emulated) -> None:
    once = emulated.folder / "hangs-once"
    words = ["--json", "--timeout", "2", "n0:g0", "g0:n0"]
    ended = emulated.run(*words, settings=f"once={once},fault=cudaEventRecord:40:hang")
    document = valid(ended)
    assert ended.code == 0 and subjects(document) == {"n0:g0", "g0:n0"} and not document["failed"]
    (note,) = document["notes"]
    assert note["code"] == "hung_once" and "did not end within 2 s" in note["reason"]


def test_a_node_that_cannot_be_found_out_is_said(emulated: Emulated, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "topology.xml")
    environment = emulated.environment(1) | {"HWLOC_XMLFILE": str(tmp_path / "topology.xml")}
    command = [str(emulated.programs / "emulated-copy"), "--json", "--timeout", "1"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20)
    document = valid(Ended(ended.returncode, ended.stdout, ended.stderr))
    (failure,) = document["failed"]
    assert ended.returncode == 1 and failure["code"] == "hung_once" and "hwloc" in failure["reason"]


@pytest.mark.parametrize("error", [209, 218, 221, 222, 803, 804])
def test_what_does_not_fit_together_is_the_installations(emulated: Emulated, error: int) -> None:
    call = "count_error" if error > 800 else "fault=latch:1:error"
    ended = emulated.run("--json", "n0:g0", settings=f"{call}={error}")
    (skip,) = valid(ended)["skipped"]
    assert (ended.code, skip["code"]) == (3, "missing_library") and skip["reason"].endswith(")"), skip


def test_a_contained_error_is_evidence(emulated: Emulated) -> None:
    ended = emulated.run("--json", "n0:g0", settings="fault=latch:2:lose=226")
    assert ended.code == 1 and valid(ended)["failed"][0]["code"] == "uncorrectable"


def test_gpus_that_a_container_hides_are_not_lost(emulated: Emulated) -> None:
    ended = emulated.run("--json", "n0:g0", "n0:g1", gpus=2, settings="count_error=100")
    assert ended.code == 3 and {skip["code"] for skip in valid(ended)["skipped"]} == {"denied"}


def test_a_file_of_yesterday_does_not_outlive_a_killed_run(emulated: Emulated, tmp_path: Path) -> None:
    file = tmp_path / "document.json"
    file.write_text("yesterday")
    command = [str(emulated.programs / "emulated-copy"), f"--json={file}", "n0:g0"]
    child = subprocess.Popen(command, env=emulated.environment(1, "fault=latch:1:hang"), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in reversed(tree_of(child.pid)):
        os.kill(pid, signal.SIGKILL)
    child.wait()
    assert not file.exists()


@pytest.mark.parametrize(
    ("before", "settings", "code", "words"),
    [
        ("", "memory=30000000", "no_memory", "too small for 4 threads"),
        ("ulimit -v 60000", "", "not_allowed", "`ulimit -v` allows only 58 MiB"),
        ("mount -t tmpfs none /sys || exit 77", "", "denied", "mount /sys in this container"),
    ],
    ids=["threads", "addresses", "sys"],
)
def test_what_is_missing_is_named(emulated: Emulated, before: str, settings: str, code: str, words: str) -> None:
    program = emulated.programs / "emulated-copy"
    line = f"{before}\nexec {program} --json n0:g0/x4/threads+g0:n0"
    ended = emulated.start([*(["unshare", "-rm"] if "mount" in before else []), "bash", "-c", line], 1, settings)
    if ended.code == 77 or "unshare" in ended.errors:
        pytest.skip("no mount namespaces here")
    (skip,) = valid(ended)["skipped"]
    assert (ended.code, skip["code"]) == (3, code) and words in skip["reason"], skip
