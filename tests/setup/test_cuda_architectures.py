"""Which architectures a usual build has code for, by what the compiler knows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

RULE = Path(__file__).parents[2] / "src" / "cmake" / "cuda_architectures.cmake"

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")


@pytest.mark.parametrize(
    ("known", "chosen"),
    [
        ("35 37 50 52 53 60 61 62 70 72 75 80 86 87 89 90", "70-virtual;70-real;75-real;80-real;90-real"),  # CUDA 11.8
        ("50 52 60 61 70 72 75 80 86 87 89 90", "70-virtual;70-real;75-real;80-real;90-real"),  # 12.2
        ("50 60 70 75 80 86 89 90 100 101 120", "70-virtual;70-real;75-real;80-real;90-real;100-real;120-real"),  # 12.8
        (
            "75 80 86 87 88 89 90 100 110 103 120 121",
            "75-virtual;75-real;80-real;90-real;100-real;103-real;120-real",
        ),  # 13.0
    ],
)
def test_code_for_what_the_compiler_has(tmp_path: Path, known: str, chosen: str) -> None:
    listed = "\n".join(f"compute_{number}" for number in known.split())
    script = tmp_path / "ask.cmake"
    script.write_text(
        f'cmake_minimum_required(VERSION 3.20)\ninclude("{RULE}")\n'
        f'nearfar_cuda_architectures("{listed}\n" found)\nmessage("${{found}}")\n',
        encoding="utf-8",
    )
    told = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=True, timeout=60)
    assert told.stderr.strip() == chosen
