"""Real documents of two H100s, one with a slower link put there on purpose (nearfar-copy-slow), by limits tuned from one host's four runs.

Middles and limits are those that ``nearfar tune`` wrote of the healthy runs just before (benchmarks/studies/limits.md).
"""

from __future__ import annotations

import pytest

from nearfar import measurement, question
from nearfar.verdict import judge
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import Reference
from tests.conftest import CHECKOUT

CHECK = "host_device_check"


def tuned(value: float, fail: float, degraded: float) -> Reference:
    return Reference(value, fail, None, "GB/s", "tuned", "n = 1", degraded_below=value * (1 + degraded))


H2D, D2H, BOTH = tuned(55.33, -0.0611, -0.0505), tuned(55.18, -0.0607, -0.0502), tuned(99.57, -0.1372, -0.1136)


@pytest.mark.parametrize(
    "link, verdict, slow",
    [
        ("healthy", "PASS", []),
        ("h2d-97", "PASS", []),
        ("h2d-95", "DEGRADED", ["sole.n0_g1"]),
        ("h2d-93", "FAIL", ["sole.n0_g1"]),
        ("h2d-67", "FAIL", ["sole.n0_g1", "sole.n0_g1__g1_n0.total"]),
        ("d2h-93", "FAIL", ["sole.g1_n0"]),
    ],
)
def test_a_slower_link_is_found_at_seven_per_cent_and_passes_at_three(link: str, verdict: str, slow: list[str]) -> None:
    document = measurement.load(CHECKOUT / f"tests/data/h100-x2-slow-link/{link}.json")
    metrics = question.named(CHECK).figures(document, document.node)
    found = {each.name: _reference(each.name) for each in metrics}
    subject = CaseInfo(CHECK, "redwood", "gpu", "system", "vm", "2026-11-28T04:11:00Z")
    judged = judge(document, found, subject=subject, metrics=metrics, acceptance=False)
    assert judged.verdict == verdict, judged.reasons
    assert [metric.name for metric in judged.metrics if metric.verdict in ("FAIL", "DEGRADED")] == slow


def _reference(name: str) -> Reference | None:
    if name.endswith(".total"):
        return BOTH
    if ".of." in name or name.endswith(".pageable"):
        return None
    return H2D if name.startswith("sole.n0") else D2H
