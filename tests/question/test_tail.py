"""The figures and the note of a tail: what the slowest of many transfers took, and when it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar import cells, measurement, question, verdict
from nearfar.cells import parse
from nearfar.measurement import Document, Tail
from nearfar.question import synthetic_documents
from nearfar.topology import Gpu, Node, NumaNode, Package
from nearfar.verdict import CaseInfo, JudgedMetric, references
from nearfar.verdict.references import Reference
from tests.conftest import CHECKOUT

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


def test_a_real_document_has_the_percentiles_of_its_paths_in_order() -> None:
    """Two H200s, 1,000 transfers of each of the eight paths."""
    document = measurement.load(CHECKOUT / "tests/data/h200-x2-memory/tail_check.json")
    tails = [result.tail for result in document.results]
    assert len(tails) == 8 and all(tail is not None and tail.count == 1000 for tail in tails)
    for tail in filter(None, tails):
        assert 0 < tail.p50 <= tail.p99 <= tail.p99_9 <= tail.worst < 2 * tail.p50
    arrived, worst = CHECK.findings(document)
    assert (arrived.code, arrived.fields) == ("transfer.all_arrived", {"transfers": 8000})
    assert worst.code == "transfer.slowest" and 1 < worst.fields["ratio"] < 2


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
    assert (worst.verdict, worst.code) == ("not judged", "transfer.slowest")
    assert worst.fields == {"path": "n0→g1", "transfers": 1000, "ratio": 16.2, "seconds": 12.34, "sample": 4}
    assert (arrived.verdict, arrived.fields) == ("PASS", {"transfers": 2000})


def test_what_was_not_verified_is_not_said_to_have_arrived() -> None:
    (worst,) = CHECK.findings(document_of({"n0:g0": USUAL}, verified=False))
    assert worst.verdict == "not judged"
    assert CHECK.findings(None) == []


def judged(worst: float, host: str, row: tuple[float, float | None, float] | None = None) -> JudgedMetric:
    """The judged ``tail_worst`` of a path whose slowest transfer took so many times the median; ``row``: a tuned row's value, upper bound
    and DEGRADED bound."""
    document = document_of({"n0:g0": USUAL, "n0:g1": replace(SLOW, worst=300.0 * worst)})
    subject = CaseInfo("tail_check", "s", "gpu", "system", "cn01", "2026-11-22T09:00:00Z")
    figures = measurement.metrics(document, NODE)
    known = {}
    if row is not None:
        value, upper, above = row
        known = {"sole_tail_worst.n0_g1": Reference(value, None, upper, "1", "tuned", "n = 3", degraded_above=above)}
    made = verdict.judge(
        document,
        references.on_host(known, figures, host),
        subject=subject,
        metrics=figures,
        findings=CHECK.findings(document),
        host=host,
    )
    slowest = next(each for each in made.findings if each.subject == "slowest transfer")
    assert slowest.fields["ratio"] == pytest.approx(max(worst, USUAL.worst_over_p50))
    return next(metric for metric in made.metrics if metric.name == "sole_tail_worst.n0_g1")


@pytest.mark.parametrize(
    ("worst", "word"), [(1.1, "not judged"), (3.0, "not judged"), (8.0, "DEGRADED"), (16.2, "DEGRADED")]
)
def test_an_outlier_is_seen_without_a_reference_on_an_own_host(worst: float, word: str) -> None:
    found = judged(worst, "own")
    assert found.verdict == word
    assert word == "not judged" or (found.code, f"{worst:.1f};" in str(found.reason)) == ("figure.outlier", True)
    assert judged(worst, "shared").verdict == "not judged"


@pytest.mark.parametrize(
    ("worst", "own", "shared"),
    [(1.2, "PASS", "PASS"), (4.0, "DEGRADED", "DEGRADED"), (16.2, "FAIL", "DEGRADED"), (400.0, "FAIL", "DEGRADED")],
)
def test_a_row_of_the_worst_fails_no_shared_host(worst: float, own: str, shared: str) -> None:
    row = (1.05, 11.0, 2.1)
    assert judged(worst, "own", row).verdict == own
    assert judged(worst, "shared", row).verdict == shared
    assert judged(worst, "shared", (1.05, None, 2.1)).verdict == shared


def test_other_figures_keep_their_fail_bound_on_a_shared_host() -> None:
    figures = measurement.metrics(synthetic_documents.of_cells([parse("n0:g0")], NODE, lambda _: ("copy",)), NODE)
    (figure,) = figures
    row = Reference(55.5, -0.02, None, "GB/s", "tuned", "n = 3")
    assert references.on_host({figure.name: row, "other": None}, figures, "shared") == {figure.name: row, "other": None}
