"""``over_alone``: what copies, and what computes beside them, keep of what each does alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import measurement
from nearfar.verdict.words import describe

#: One run on one H200 of a virtual machine (benchmarks/studies/kernels.md).
RUN = Path(__file__).parents[1] / "data" / "h200-x1-beside" / "beside.json"


@pytest.fixture(scope="module")
def kept() -> dict[tuple[str, str], measurement.Metric]:
    found = measurement.metrics(measurement.load(RUN))
    return {(str(figure.cell), str(figure.flow)): figure for figure in found if figure.derived == "over_alone"}


def test_of_a_real_run(kept: dict[tuple[str, str], measurement.Metric]) -> None:
    def of(cell: str, flow: str) -> float:
        return kept[cell, flow].value

    assert of("n0:g0+g0:g0/gemm", "g0:g0/gemm") == pytest.approx(0.994, abs=0.002)
    assert of("g0:g0+g0:g0/gemm", "g0:g0/gemm") == pytest.approx(0.71, abs=0.01), "the same memory feeds both"
    assert of("n0:g0+g0:n0+c0:n0/triad", "n0:g0") < of("n0:g0+g0:n0+c0:n0/triad", "g0:n0") < 1
    assert all(figure.unit == "1" and figure.quantity == measurement.RATIO for figure in kept.values())


def test_its_words_name_what_ran_beside_it(kept: dict[tuple[str, str], measurement.Metric]) -> None:
    assert describe(kept["n0:g0+g0:g0/gemm", "n0:g0"]) == (
        "GPU 0, host to device from NUMA node 0, beside matrix products of GPU 0: ratio to what it does alone"
    )
    assert describe(kept["n0:g0+g0:n0+c0:n0/triad", "c0:n0/triad"]) == (
        "NUMA node 0's cores, memory of NUMA node 0, STREAM triad, beside copies in both directions of GPU 0: "
        "ratio to what it does alone"
    )


def test_copies_alone_together_have_none() -> None:
    document = measurement.load(RUN.parents[1] / "h200-x1-acceptance" / "host_device_check.json")
    assert not [figure for figure in measurement.metrics(document) if figure.derived == "over_alone"]
