"""The GPU programs built for AMD GPUs with HIP, and the same objects run on emulated GPUs under HIP's names."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.programs.test_sanitized import SOURCES, cached
from tests.support.emulated import Emulated, write_topology

pytestmark = pytest.mark.hip

MI250X = "0380 [1002:7408] [1002:0b0c] 01"  # PCI class and ids, as hwloc writes them


def ran(*command: str | Path) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(build_folder: Path) -> Path:
    """The folder of a build with NEARFAR_HIP=ON, below that of the usual one."""
    if shutil.which("hipcc") is None and not Path("/opt/rocm/bin/hipcc").exists():
        pytest.skip("no hipcc: load ROCm, or apt-get install hipcc libamdhip64-dev")
    cmake, folder = cached(build_folder, "CMAKE_COMMAND"), build_folder / "hip"
    compiler = f"-DCMAKE_CXX_COMPILER={cached(build_folder, 'CMAKE_CXX_COMPILER')}"
    ran(cmake, "-S", SOURCES, "-B", folder, compiler, "-DNEARFAR_HIP=ON", "-DNEARFAR_TESTS=ON", "-DNEARFAR_MPI=OFF")
    programs = ("nearfar-copy", "emulated-copy", "emulated-tests")
    ran(cmake, "--build", folder, "--parallel", str(len(os.sched_getaffinity(0))), "--target", *programs)
    return folder


def test_the_program_holds_code_for_amd_gpus(built: Path) -> None:
    path = built / "bin" / "nearfar-copy"
    assert b"amdgcn-amd-amdhsa--gfx90a" in path.read_bytes()
    assert "(HIP " in ran(path, "--version")


def test_amd_gpus_are_measured_by_emulation(built: Path, tmp_path: Path) -> None:
    write_topology(tmp_path / "gpus-2.xml", 2, MI250X)
    emulated = Emulated(built / "bin", tmp_path)
    cells = ["n0:g0", "g0:g1", "g1:n0/sm", "g0:g0/triad", "g1:g1/dot"]
    ended = emulated.start([str(built / "bin" / "emulated-copy"), "--json", "--budget=5", *cells], 2, "")
    document = ended.document()
    assert ended.code == 0, ended.errors
    assert {result["cell"] for result in document["results"] if result["verified"]} == set(cells)
    assert "hip" in document["node"]["software"] and "cuda" not in document["node"]["software"]
    assert [gpu["vendor"] for gpu in document["node"]["gpus"]] == ["amd", "amd"]


def test_nvidia_gpus_are_not_counted(built: Path, tmp_path: Path) -> None:
    ended = Emulated(built / "bin", tmp_path).run("--list")
    assert ended.code == 0 and "this node has no AMD GPU on its PCI bus" in ended.errors, ended


def test_emulated_runtime_passes_under_hips_names(built: Path, build_folder: Path) -> None:
    ctest = Path(cached(build_folder, "CMAKE_COMMAND")).with_name("ctest")
    ran(ctest, "--test-dir", built, "-R", "Emulated|LostGpu", "--output-on-failure")
