"""The tests on emulated GPUs once more, by programs that watch their own threads (ThreadSanitizer)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.sanitizer

SOURCES = Path(__file__).resolve().parents[2] / "src"


def cached(build: Path, name: str) -> str:
    """A value of the build's CMake cache; empty where it has none."""
    found = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found.group(1) if found else ""


def test_no_two_threads_meet_at_the_same_memory(build_folder: Path) -> None:
    headers = cached(build_folder, "NEARFAR_CUDA_HEADERS")
    if not headers or headers.endswith("NOTFOUND"):
        pytest.skip("no headers of CUDA: there are no emulated GPUs")
    cmake, folder = cached(build_folder, "CMAKE_COMMAND"), build_folder / "thread"
    chosen = {"NEARFAR_TESTS": "ON", "NEARFAR_CUDA": "OFF", "NEARFAR_MPI": "OFF", "NEARFAR_SANITIZE": "thread"}
    chosen |= {"NEARFAR_CUDA_HEADERS": headers, "CMAKE_CXX_COMPILER": cached(build_folder, "CMAKE_CXX_COMPILER")}
    parallel = str(len(os.sched_getaffinity(0)))
    for command in (
        [cmake, "-S", str(SOURCES), "-B", str(folder), *(f"-D{name}={value}" for name, value in chosen.items())],
        [cmake, "--build", str(folder), "--parallel", parallel, "--target", "emulated-tests"],
        [
            str(Path(cmake).with_name("ctest")),
            "--test-dir",
            str(folder),
            "-R",
            "Emulated|LostGpu",
            "--output-on-failure",
        ],
    ):
        ran = subprocess.run(command, capture_output=True, text=True)
        if "cannot find" in ran.stderr and "tsan" in ran.stderr:
            pytest.skip("the compiler has no thread sanitizer")
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-8000:]
