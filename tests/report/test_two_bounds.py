"""A reference with two bounds, wherever a reader of the verdict shows or compares them."""

from __future__ import annotations

import pytest

from nearfar.report.batch.distributions import Distributions
from nearfar.report.figures import Figure
from nearfar.slurm.results import verdict_findings
from nearfar.verdict import JudgedMetric
from nearfar.verdict.verdict_types import JudgedReference
from tests.support.verdicts import judged, judged_metric

RATE = JudgedReference(55.4, 44.1, None, "GB/s", "tuned", "tuned 2026-11-20, n = 3, provisional", False)
TIME = JudgedReference(6.0, None, 9.0, "us", "tuned", "tuned 2026-11-20, n = 3, provisional", False)
SLOW = judged_metric(value=50.0, reference=RATE, degraded_below=54.3, verdict="DEGRADED", reason="slow")
LATE = judged_metric(value=7.0, unit="us", reference=TIME, degraded_above=6.6, verdict="DEGRADED", reason="late")


@pytest.mark.parametrize(
    "metric, words",
    [
        (SLOW, "expected 55.4 (≥ 44.1), tuned, provisional; DEGRADED below 54.3"),
        (LATE, "expected 6.00 (≤ 9.00), tuned, provisional; DEGRADED above 6.60"),
    ],
)
def test_a_page_says_both(metric: JudgedMetric, words: str) -> None:
    assert words in Figure(**vars(metric)).sentence


@pytest.mark.parametrize("metric, limit", [(SLOW, 54.3), (LATE, 6.6)])
def test_the_bound_that_a_degraded_figure_is_beyond_goes_to_the_scheduler(metric: JudgedMetric, limit: float) -> None:
    (found,) = verdict_findings.findings(judged("host_device_check", metric))
    assert (found["verdict"], found["limit"]) == ("DEGRADED", limit)


def test_a_batch_keeps_both() -> None:
    many = Distributions()
    for node in ("n1", "n2"):
        many.add(node, [judged("host_device_check", SLOW)])
    (one,) = many.single("host_device_check")
    assert (one.lowest, one.below, one.highest, one.above) == ({44.1}, {54.3}, set(), set())
