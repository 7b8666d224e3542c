"""nearfar-copy on real GPUs: their own memory, the host's and a peer's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement

pytestmark = pytest.mark.gpu

KERNELS = ("copy", "scale", "add", "triad", "dot", "read", "write", "fill")
#: Of the memory's clock times its width: what every kernel reaches that does not fit a cache.
LEAST_SHARE = 0.8


def stream(build: Path, *words: str, before: tuple[str, ...] = ()) -> tuple[int, dict[str, Any], str]:
    command = [*before, str(build / "bin" / "nearfar-copy"), "--json", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=500)
    return ran.returncode, json.loads(ran.stdout) if ran.stdout.startswith("{") else {}, ran.stderr + ran.stdout[-2000:]


@pytest.fixture(scope="module")
def gpus(build_folder: Path) -> int:
    """How many GPUs this node has."""
    listed = subprocess.run(
        [str(build_folder / "bin" / "nearfar-copy"), "--list"], capture_output=True, text=True
    ).stdout
    return len({cell.split(":")[1] for cell in listed.split() if cell.startswith("n") and "+" not in cell})


def test_every_kernel_on_a_gpus_own_memory(build_folder: Path) -> None:
    cells = [f"g0:g0/{kernel}" for kernel in KERNELS]
    code, document, words = stream(build_folder, *cells)
    assert code == 0, words
    measurement.document.from_raw(document, "nearfar-copy")
    results = {result["cell"]: result for result in document["results"]}
    assert set(results) == set(cells)
    for result in results.values():
        (flow,) = result["flows"]
        assert result["bytes"] >= 1 << 30 and result["verified"]["seen"] > 0 and result["method"] == "latched"
        assert LEAST_SHARE * flow["ceiling"] < flow["rate"]["plateau"] <= 1.02 * flow["ceiling"], result["cell"]


def test_all_gpus_at_once_are_as_fast_as_alone(build_folder: Path, gpus: int) -> None:
    if gpus < 2:
        pytest.skip("one GPU")
    alone = [f"g{gpu}:g{gpu}/triad" for gpu in range(gpus)]
    code, document, words = stream(build_folder, *alone, "+".join(alone))
    assert code == 0, words
    rates = {result["cell"]: result["total"]["plateau"] for result in document["results"]}
    assert rates["+".join(alone)] == pytest.approx(sum(rates[cell] for cell in alone), rel=0.05)


def test_the_hosts_memory_and_a_peers(build_folder: Path, gpus: int) -> None:
    cells = ["g0:n0/triad", "g0:n0/read", "g0:n0/write", *(["g0:g1/triad", "g0:g1/read"] if gpus > 1 else [])]
    code, document, words = stream(build_folder, *cells)
    skipped = {entry["cell"]: entry["code"] for entry in document["skipped"]}
    assert code == 0 or set(skipped.values()) == {"unsupported"}, words
    for result in document["results"]:
        (flow,) = result["flows"]
        assert result["verified"] and flow["rate"]["plateau"] > 1
        if flow["ceiling"]:
            assert flow["rate"]["plateau"] <= 1.02 * flow["ceiling"], result["cell"]


def test_the_memory_of_two_gpus_takes_four_seconds(build_folder: Path, gpus: int) -> None:
    chosen = [f"g{gpu}:g{gpu}/triad" for gpu in range(min(gpus, 2))]
    code, document, words = stream(build_folder, *chosen, *(["+".join(chosen)] if gpus > 1 else []))
    assert code == 0, words
    assert document["seconds"] < 6, "four seconds, and half as much again for a busy host"


def test_the_sanitizer_finds_nothing(build_folder: Path, gpus: int) -> None:
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(sanitizer).exists():
        pytest.skip("no compute-sanitizer")
    cells = [*(f"g0:g0/{kernel}" for kernel in KERNELS), "g0:n0/triad", *(["g0:g1/copy"] if gpus > 1 else [])]
    before = (sanitizer, "--target-processes", "all", "--error-exitcode", "99")
    code, _, words = stream(build_folder, *cells, "--rounds", "1", "--timeout", "300", before=before)
    assert code in (0, 3) and "ERROR SUMMARY: 0 errors" in words and "Invalid" not in words, words
