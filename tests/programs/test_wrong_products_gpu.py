"""nearfar-kernels on a real GPU with one wrong product on purpose: it is found wherever in a run it is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

KERNELS = ("sgemm", "dgemm", "bf16gemm")
PLACES = 25  # in a run of two rounds, evenly spaced


def run(build_folder: Path, wrong: dict[str, int], *options: str) -> dict[str, Any]:
    """The document of a run in which of each kernel the product with this number is wrong."""
    ran = subprocess.run(
        [str(build_folder / "bin" / "spoiled-kernels"), *options, "--even-if-busy", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ
        | {"NEARFAR_WRONG_PRODUCT": ",".join(f"{kernel}={product}" for kernel, product in wrong.items())},
    )
    assert ran.returncode == (1 if wrong else 0), ran.stdout[-2000:] + ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def rates(build_folder: Path, wrong: dict[str, int], rounds: int) -> dict[str, Any]:
    """The same of a run without transfers in so many rounds."""
    options = ("g0.n0", "--kernels", ",".join(KERNELS), "--size", "paper", "--rate-only", "--rounds", str(rounds))
    return run(build_folder, wrong, *options)


@pytest.fixture(scope="module")
def products(build_folder: Path) -> dict[str, int]:
    """How many products of each kernel two rounds have where nothing is wrong."""
    results = {result["quantity"].split(".")[1]: result for result in rates(build_folder, {}, 2)["results"]}
    return {kernel: results[kernel]["verified"]["bytes"] // results[kernel]["out_bytes"] for kernel in KERNELS}


@pytest.mark.parametrize("place", range(PLACES))
def test_a_wrong_product_is_found_at_every_place(build_folder: Path, products: dict[str, int], place: int) -> None:
    """Three rounds: a place late in the second is reached in any case."""
    wrong = {kernel: 1 + place * count // PLACES for kernel, count in products.items()}
    document = rates(build_folder, wrong, 3)
    failed = {entry["cell"]: entry["code"] for entry in document["failed"]}
    assert failed == {f"g0.n0/{kernel}/paper": "wrong_data" for kernel in KERNELS}, wrong
    assert not document["results"], "no rate is given of a GPU that computes wrongly"


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_wrong_product_of_a_burn_in_is_found(build_folder: Path, kernel: str) -> None:
    document = run(build_folder, {kernel: 7}, "g0", "--kernels", kernel, "--sustain", "1")
    assert [(entry["cell"], entry["code"]) for entry in document["failed"]] == [("g0", "wrong_data")]
