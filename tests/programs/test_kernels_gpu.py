"""nearfar-kernels on real GPUs: matrix products without transfers are as fast as those beside them, and every one is right."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

WORDS = ("g0.n0", "--kernels", "sgemm,dgemm,bf16gemm", "--size", "today", "--even-if-busy", "--json")


def rates(program: Path, *words: str) -> dict[str, float]:
    ran = subprocess.run([str(program), *WORDS, *words], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr
    found = [result for result in json.loads(ran.stdout)["results"] if result["quantity"].endswith(".rate")]
    assert all(result["verified"]["bytes"] >= 4 * result["out_bytes"] for result in found)
    return {result["quantity"]: result["flows"][0]["rate"]["plateau"] for result in found}


def test_rates_without_transfers_are_those_beside_them(build_folder: Path) -> None:
    program = build_folder / "bin" / "nearfar-kernels"
    alone = rates(program, "--rate-only")
    assert len(alone) == 3 and alone == pytest.approx(rates(program), rel=0.06), "at its power cap dgemm varies by 4 %"
