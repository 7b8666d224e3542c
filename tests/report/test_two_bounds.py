"""A reference with two bounds, wherever a reader of the verdict shows or compares them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar.report.batch.distributions import Distributions
from nearfar.report.figures import Figure, wording
from nearfar.slurm.results import publish_result
from nearfar.verdict import JudgedMetric
from nearfar.verdict.verdict_types import FigureLook, JudgedReference
from tests.support.verdicts import judged, judged_metric

RATE = JudgedReference(55.4, 44.1, None, "GB/s", "tuned", "tuned 2026-11-20, n = 3", False)
TIME = JudgedReference(6.0, None, 9.0, "us", "tuned", "tuned 2026-11-20, n = 3", False)
SLOW = judged_metric(value=50.0, reference=RATE, degraded_below=54.3, verdict="DEGRADED", reason="slow")
LATE = judged_metric(value=7.0, unit="us", reference=TIME, degraded_above=6.6, verdict="DEGRADED", reason="late")


@pytest.mark.parametrize(
    "metric, words",
    [
        (SLOW, "expected 55.4 (≥ 54.3), tuned; DEGRADED below 54.3, FAIL below 44.1"),
        (LATE, "expected 6.00 (≤ 6.60), tuned; DEGRADED above 6.60, FAIL above 9.00"),
    ],
)
def test_a_page_says_both(metric: JudgedMetric, words: str) -> None:
    assert words in Figure(**vars(metric)).sentence


def test_a_model_s_range_is_degraded_below_and_fail_far_below() -> None:
    model = replace(RATE, value=55.5, lowest=28.8, origin="model", note="healthy GPUs of this model: …")
    words = Figure(**vars(replace(SLOW, reference=model, degraded_below=52.6))).sentence
    assert "expected 55.5 (≥ 52.6), model; DEGRADED below 52.6, FAIL below 28.8" in words
    siblings = replace(RATE, lowest=None, origin="siblings", note="median of 3")
    words = Figure(**vars(replace(SLOW, reference=siblings))).sentence
    assert "expected 55.4 (≥ 54.3), siblings; DEGRADED below 54.3, never FAIL" in words


def test_the_words_of_a_source_say_nothing_of_a_reference() -> None:
    report = replace(RATE, origin="published", note="As described in the provisional report")
    assert wording.expectation(report, None, None) == "55.4, published"


def test_looks_stand_in_a_row() -> None:
    looks = (FigureLook(31.2, "", True), FigureLook(None, "", None, "it hung"), FigureLook(55.0, "", False))
    assert Figure(**vars(replace(SLOW, looks=looks))).look_words == "measured again: 31.2 · – · 55.0"
    assert Figure(**vars(SLOW)).look_words == ""


@pytest.mark.parametrize("metric, limit", [(SLOW, 54.3), (LATE, 6.6)])
def test_the_bound_that_a_degraded_figure_is_beyond_goes_to_the_scheduler(metric: JudgedMetric, limit: float) -> None:
    (found,) = publish_result.findings(judged("host_device_check", metric))
    assert (found.verdict, found.fields["limit"]) == ("DEGRADED", limit)


def test_a_batch_keeps_both() -> None:
    many = Distributions()
    for node in ("n1", "n2"):
        many.add(node, [judged("host_device_check", SLOW)])
    (one,) = many.single("host_device_check")
    assert [one.bound(which) for which in range(4)] == [[44.1], [], [54.3], []]
