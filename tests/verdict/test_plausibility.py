"""What no figure can be: what real machines printed can, a thousand times as much of anything cannot."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar import measurement
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.cells import parse
from nearfar.measurement import AnyMetric, Metric
from nearfar.mpi import contention, load_balance
from nearfar.mpi.osu import mpi_figures as osu_figures
from nearfar.topology import Link
from nearfar.verdict import plausibility
from tests.support.verdicts import subject_metric
from tests.verdict.test_references import NODE, metric
from tests.verdict.test_verdict import SUBJECT, judge

DATA = Path(__file__).parents[1] / "data"
REAL = sorted(DATA.glob("h200-x*/**/*.json"))
TIMES = ("us", "ms")


def figures(path: Path) -> tuple[measurement.Document, list[AnyMetric]]:
    made = measurement.load(path)
    of = (measurement.metrics, osu_figures.figures, contention.figures, load_balance.figures)
    return made, [metric for figures_of in of for metric in figures_of(made)]


@pytest.mark.parametrize("path", [p for p in REAL if p.name != "node.json"], ids=lambda path: "/".join(path.parts[-2:]))
def test_what_real_machines_printed_can_be_and_a_thousand_times_of_it_cannot(path: Path) -> None:
    made, found = figures(path)
    for each in found:
        if each.value == 0:
            continue  # a flow that moved nothing
        for node in (made.node, None):
            assert plausibility.fault(each, node) is None, each
            if each.unit == "GB/s" and each.value > 6:
                for factor in (50, 1000):
                    bad = replace(each, value=factor * each.value, ceiling=None)
                    quiet = factor == 50 and (node is None or each.value < 40 or each.quantity.startswith("mpi."))
                    # A copy within a GPU has a third of its rate beside matrix products.
                    quiet = quiet or (factor == 50 and isinstance(each, Metric) and each.cell.copies_beside_kernels)
                    assert quiet or plausibility.fault(bad, node), (each.name, factor)
            if each.unit in TIMES:
                bad = replace(each, value=each.value / 1e6)
                assert plausibility.fault(bad, node), each.name


PCIE = replace(NODE, gpus=tuple(replace(gpu, link=Link("pcie", 5, 16, 5, 16)) for gpu in NODE.gpus))
C2C = replace(NODE, gpus=tuple(replace(gpu, link=Link("c2c")) for gpu in NODE.gpus))
NVLINK = replace(NODE, peers={(0, 1): "NV18"})


@pytest.mark.parametrize(
    "cell, node, can_be, cannot",
    [
        ("n0:g0", PCIE, 60.0, 80.0),
        ("n0:g0", C2C, 900.0, 2100.0),  # Rubin's; its generation is not known
        ("n0:g0", None, 900.0, 2100.0),
        ("n0:g0/pageable", PCIE, 25.0, 500.0),
        ("n0:g0/sm", PCIE, 57.0, 500.0),
        ("g0:g1/staged", PCIE, 38.0, 80.0),
        ("g0:g1/staged", None, 200.0, 1500.0),
        ("g0:g1", NVLINK, 1800.0, 5000.0),  # 18 lanes
        ("c0:n0/triad", None, 1750.0, 6000.0),  # HBM
        ("c0:n0/triad", NODE, 100.0, 301.0),  # two CPUs
    ],
)  # fmt: skip
def test_a_flow_by_what_is_known_of_its_way(cell: str, node: Any, can_be: float, cannot: float) -> None:
    assert plausibility.fault(metric(cell, can_be), node) is None
    assert plausibility.fault(metric(cell, cannot), node) is not None


def test_totals_are_as_many_flows_and_each_memory_once() -> None:
    both = parse("n0:g0+g0:n0")
    assert plausibility.fault(metric(str(both), 120.0, total=True), PCIE) is None
    assert plausibility.fault(metric(str(both), 160.0, total=True), PCIE) is not None
    every = "c0:n0/triad+c1:n1/triad"
    assert plausibility.fault(metric(every, 9_000.0, "local", total=True)) is None
    assert plausibility.fault(metric(every, 11_000.0, "local", total=True)) is not None
    same = "c0:n0/triad+c1:n0/triad"
    assert plausibility.fault(metric(same, 9_000.0, "mixed", total=True)) is not None


@pytest.mark.parametrize(
    "quantity, subject, unit, can_be, cannot",
    [
        ("mpi.latency", "osu_latency/H-H/sole", "us", 0.15, 0.001),
        ("mpi.bandwidth", "osu_bw/H-H/sole", "GB/s", 119.0, 600.0),
        ("mpi.bandwidth", "osu_bw/D-D/sole/g0-g1", "GB/s", 390.0, 6_000.0),
        ("mpi.bibandwidth", "osu_bibw/D-D/sole/g0-g1", "GB/s", 780.0, 11_000.0),
        ("mpi.bandwidth", "osu_mbw_mr/H-H/sole/x16", "GB/s", 900.0, 4_500.0),
        ("mpi.message_rate", "osu_mbw_mr/H-H/sole/x16", "Mmsg/s", 100.0, 5_000.0),
        ("mpi.stream.bandwidth", "across.mpi_only.1.stream_1MiB", "GB/s", 100.0, 600.0),
        ("mpi.pingpong.latency", "across.mpi_only.1.pingpong_8B", "us", 1.0, 0.001),
        ("saxpy.kernel", "saxpy/gpu", "GB/s", 8_000.0, 100_000.0),
        ("saxpy.h2d", "saxpy/gpu", "GB/s", 450.0, 3_000.0),
        ("saxpy.run_time", "saxpy/gpu", "ms", 5.0, 1e-6),
        ("saxpy.load_balance", "saxpy/gpu", "1", 1.0, 1.5),
        ("ratio", "within.per_task.4.pingpong_8B.penalty", "1", 60.0, 20_000.0),
        ("size", "n0:g0", "B", 1e6, 1e15),
        ("site.own", "whatever", "GB/s", 50_000.0, 1e6),
        ("site.own", "whatever", "MB/s", 5e7, 1e9),
    ],
)  # fmt: skip
def test_figures_that_are_no_cells(quantity: str, subject: str, unit: str, can_be: float, cannot: float) -> None:
    for value, good in ((can_be, True), (cannot, False)):
        name = re.sub("[^A-Za-z0-9_.]", "_", f"a.{subject}")
        made = subject_metric(name, subject, "a", value, unit, quantity, verified=True)
        assert (plausibility.fault(made) is None) == good, value
        found = judge(None, {}, subject=SUBJECT, metrics=[made])
        assert found["verdict"] == (NOT_JUDGED if good else "INDETERMINATE")


@pytest.mark.parametrize(
    "what, can_be, cannot",
    [("copy", 5.0, 0.1), ("copy", 5.0, 2e5), ("chase", 0.5, 0.001), ("launch", 2.0, 0.01)],
)
def test_latencies(what: str, can_be: float, cannot: float) -> None:
    for value, good in ((can_be, True), (cannot, False)):
        made = replace(metric("n0:g0", value), quantity=f"latency.{what}", unit="us")
        assert (plausibility.fault(made) is None) == good


def test_what_is_more_than_anything_is_said_with_its_bound() -> None:
    found = judge(None, {}, subject=SUBJECT, metrics=[metric("c0:n0/triad", 200_000.0, "local")])
    assert found["reasons"] == [
        "NUMA node 0's cores, memory of NUMA node 0, STREAM triad: 200000.0 GB/s, "
        "more than the memory of 1 NUMA node can be, 5000 GB/s"
    ]  # fmt: skip


@given(
    st.sampled_from(["n0:g0", "g0:g1", "g0:g1/staged", "c0:n0/triad", "n0:g0+g0:n0", "g0:g1+g1:g0"]),
    st.floats(1e-3, 1e9),
    st.floats(1.0, 1e3),
)
def test_more_of_what_cannot_be_cannot_be_either(cell: str, value: float, factor: float) -> None:
    total = "+" in cell
    less, more = (metric(cell, each, total=total) for each in (value, value * factor))
    assert plausibility.fault(less) is None or plausibility.fault(more) is not None
    row = {"value": value, "quantity": less.quantity, "unit": "GB/s", "cell": cell, "flow": None, "class": "near"}
    assert (plausibility.row_fault(row) is None) == (plausibility.fault(less) is None), "the history is judged alike"


@pytest.mark.parametrize("value, ceiling, good", [(55.0, 58.4, True), (60.0, 58.4, False), (float("nan"), None, False)])
def test_rows_of_the_history(value: float, ceiling: float | None, good: bool) -> None:
    row = {"value": value, "quantity": "copy", "unit": "GB/s", "cell": "n0:g0", "flow": None, "class": "near"}
    assert (plausibility.row_fault({**row, "ceiling": ceiling}) is None) == good
