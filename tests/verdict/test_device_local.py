"""Figures of copies within one GPU's memory: how they are named, judged, looked for and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import measurement
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.cells import Cell, parse
from nearfar.question.question import of_cell
from nearfar.question.synthetic_documents import flow_line_rate
from nearfar.site.must_exist import cells as must_exist
from nearfar.verdict import judgement
from nearfar.verdict.document_facts import engine_of
from nearfar.verdict.plausibility import fault
from nearfar.verdict.references import resolve, row_keys
from nearfar.verdict.words import describe
from tests.verdict.test_references import CHECK, NODE, metric, reference_file
from tests.verdict.test_verdict import SUBJECT, by_name, document, judged

#: Half of the bandwidth of an H100's memory, GB/s.
CEILING = 1676.2


def test_a_figure_without_reference_is_measured_and_not_judged() -> None:
    found = judged(document({"g0:g0": 1440.0, "g0:g0/sm": 1300.0}), asked=[parse("g0:g0")])
    one = by_name(found, "device_local.g0_g0")
    assert (one["verdict"], one["path_class"], one["question"], one["engine"]) == (
        NOT_JUDGED,
        "device_local",
        "d2d",
        "ce",
    )
    assert by_name(found, "device_local.g0_g0.sm")["engine"] == "sm"
    assert (found["verdict"], found["reasons"], found["missing"]) == (NOT_JUDGED, [], [])


def test_a_gpu_below_its_siblings_is_degraded() -> None:
    found = judged(document({f"g{i}:g{i}": 1200.0 if i == 2 else 1440.0 for i in range(5)}))
    assert found["verdict"] == "DEGRADED"
    (reason,) = found["reasons"]
    assert reason.startswith(
        "GPU 2, within its memory: 1200.0 GB/s, expected at least 1368.0 GB/s (siblings: 1440.0 GB/s, "
    )


def test_a_site_may_give_a_reference(tmp_path: Path) -> None:
    rows = f"{CHECK}:\n  device_local.d2d: [1440, -0.05, null, GB/s]\n"
    file = reference_file(tmp_path, "provenance: {tuned: {date: 2026-11-20, n: 4}}\n" + rows)
    figure = metric("g3:g3", 1300.0, "device_local")
    assert row_keys(figure) == ["device_local.g3_g3", "device_local.d2d"]
    (reference,) = resolve([figure], CHECK, [file], NODE).values()
    assert reference is not None and reference.lowest == pytest.approx(1368.0)
    judged_by_it = judgement.judge(None, {figure.name: reference}, subject=SUBJECT, metrics=[figure])
    assert judged_by_it.verdict == "FAIL"


def test_more_than_the_memory_carries_is_no_figure() -> None:
    figure = metric("g0:g0", 2000.0, "device_local", ceiling=CEILING)
    (one,) = judgement.judge(None, {figure.name: None}, subject=SUBJECT, metrics=[figure]).metrics
    assert one.verdict == "INDETERMINATE"
    assert "above what its memory can carry, 1676.2" in str(one.reason)
    assert fault(metric("g0:g0", 1440.0, "device_local"), NODE) is None
    assert "the memory of a GPU" in str(fault(metric("g0:g0", 1e6, "device_local"), NODE))


def test_no_link_is_its_line_rate_and_every_gpu_must_have_it() -> None:
    assert flow_line_rate(parse("g0:g0").flows[0], NODE) is None
    assert flow_line_rate(parse("g0:n0/triad").flows[0], NODE) is None
    asked = [parse(text) for text in ("g0:g0", "g99:g99", "g0:g0/triad")]
    assert list(must_exist(asked, NODE, {})) == [asked[0]]


def test_kernels_of_gpus_are_stream() -> None:
    assert [tuple(of_cell(parse(text))) for text in ("g0:g0", "g0:g0/triad", "c0:n0/triad")] == [
        ("copy",),
        ("stream",),
        ("stream",),
    ]
    assert [engine_of("stream", cell) for cell in ("c0:n0/triad", "g0:n0/triad")] == ["cpu", "sm"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("g1:g1", "GPU 1, within its memory"),
        ("g1:g1/sm", "GPU 1, within its memory (/sm)"),
        ("g0:g0/triad", "GPU 0, its own memory, STREAM triad"),
        ("g0:n1/copy", "GPU 0, memory of NUMA node 1, STREAM copy"),
        ("g0:g1/add", "GPU 0, memory of GPU 1, STREAM add"),
    ],
)
def test_words(cell: str, words: str) -> None:
    assert describe(metric(cell, 1.0)) == words


def test_the_flows_of_a_cell_of_several_gpus_have_names_and_a_total() -> None:
    raw = {
        **document({}).raw,
        "results": [
            {
                "quantity": "copy",
                "cell": "g0:g0+g1:g1",
                "converged": True,
                "verified": True,
                "total": {"unit": "GB/s", "median": 2880.0},
                "flows": [
                    {"flow": flow, "rate": {"unit": "GB/s", "median": 1440.0}, "ceiling": CEILING}
                    for flow in ("g0:g0", "g1:g1")
                ],
            }
        ],
    }
    cell: Cell = parse("g0:g0+g1:g1")
    found = measurement.metrics(measurement.document.from_raw(raw), NODE)
    assert {m.name: m.ceiling for m in found if m.cell == cell} == {
        "device_local.g0_g0__g1_g1.of.g0_g0": CEILING,
        "device_local.g0_g0__g1_g1.of.g1_g1": CEILING,
        "device_local.g0_g0__g1_g1.total": 2 * CEILING,
    }
