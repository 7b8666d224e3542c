"""The figures and the note of a tail: what the slowest of many transfers took, and when it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar import cells, measurement, question, verdict
from nearfar.cells import parse
from nearfar.measurement import Document, Tail
from nearfar.question import synthetic_documents
from nearfar.topology import Gpu, Node, NumaNode, Package
from nearfar.verdict import CaseInfo

CPUS = tuple(range(8))
NODE = Node(
    "cn01",
    (Package(0, CPUS),),
    (NumaNode(0, 0, CPUS, 1 << 37),),
    tuple(Gpu(index, f"0000:{index + 16:02x}:00.0", name="NVIDIA H200", numa_node=0, package=0) for index in range(2)),
)
CHECK = question.named("tail_check")
USUAL = Tail(1000, 300.0, 310.0, 330.0, 345.0, 2.5, 1)
SLOW = Tail(1000, 300.0, 320.0, 900.0, 4860.0, 12.34, 4)


def document_of(tails: dict[str, Tail], verified: bool = True) -> Document:
    made = synthetic_documents.of_cells([parse(cell) for cell in tails], NODE, CHECK.quantities)
    made.raw.update(kind="measured", results=[], skipped=[], failed=[])
    results = tuple(replace(result, verified=verified, tail=tails[result.subject]) for result in made.results)
    return replace(made, results=results)


def test_every_path_is_asked_on_acceptance() -> None:
    assert CHECK.levels == ("accept",) and CHECK.options == ("--tail",)
    asked = {str(cell) for cell in CHECK.cells(NODE)[0]}
    assert {"n0:g0", "g0:n0", "n0:g1", "g1:n0", "g0:g1", "g1:g0", "g0:g1@g1", "g1:g0@g0"} == asked


def test_a_path_has_a_high_percentile_and_its_worst_under_names_of_their_own() -> None:
    found = {metric.name: metric for metric in measurement.metrics(document_of({"n0:g1": SLOW}), NODE)}
    assert set(found) == {"sole_tail_p99.n0_g1", "sole_tail_worst.n0_g1"}, "none of them is the rate's"
    p99, worst = found["sole_tail_p99.n0_g1"], found["sole_tail_worst.n0_g1"]
    assert (p99.value, p99.unit, worst.unit) == (320.0, "us", "1") and worst.value == pytest.approx(16.2)
    assert all(cells.parse_metric_name(name).cell == parse("n0:g1") for name in found)


def test_the_note_names_the_path_the_ratio_and_the_time_of_the_worst() -> None:
    arrived, worst = CHECK.findings(document_of({"n0:g0": USUAL, "n0:g1": SLOW}))
    assert worst.reason == "n0→g1: worst of 1,000: 16.2 times the median, at 12.3 s (visit 4)"
    assert worst.verdict == "not judged"
    assert (arrived.verdict, arrived.reason) == ("PASS", "all of 2,000 transfers arrived")


def test_what_was_not_verified_is_not_said_to_have_arrived() -> None:
    (worst,) = CHECK.findings(document_of({"n0:g0": USUAL}, verified=False))
    assert worst.verdict == "not judged"
    assert CHECK.findings(None) == []


def test_slow_transfers_are_described_and_judge_nobody_without_a_reference() -> None:
    document = document_of({"n0:g0": USUAL, "n0:g1": replace(SLOW, worst=300.0 * 500)})
    subject = CaseInfo("tail_check", "s", "gpu", "system", "cn01", "2026-11-22T09:00:00Z")
    figures = measurement.metrics(document, NODE)
    judged = verdict.judge(document, {}, subject=subject, metrics=figures, findings=CHECK.findings(document))
    assert judged.verdict == "PASS" and {metric.verdict for metric in judged.metrics} == {"not judged"}
