"""The C++ library's own tests that need GPUs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu


def test_the_librarys_gpu_tests_pass(build_folder: Path) -> None:
    ran = subprocess.run([str(build_folder / "bin" / "gpu-tests")], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
