"""Real documents of two H100s and of two H200s with a link slowed on purpose (nearfar-copy-slow): what is judged, and which part is named.

Middles and limits are those that ``nearfar tune`` wrote of one host's healthy runs just before (benchmarks/studies/limits.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nearfar import measurement, question
from nearfar.measurement import AnyMetric, Document
from nearfar.model.calibration import measured_cells, node_type_of
from nearfar.model.diagnosis import diagnose, from_reference
from nearfar.verdict import judge
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import Reference
from tests.conftest import CHECKOUT


def tuned(value: float, fail: float, degraded: float) -> Reference:
    return Reference(value, fail, None, "GB/s", "tuned", "n = 1", degraded_below=value * (1 + degraded))


def h100(name: str) -> Reference | None:
    if name.endswith(".total"):
        return tuned(99.57, -0.1372, -0.1136)
    if ".of." in name or name.endswith(".pageable"):
        return None
    return tuned(55.33, -0.0611, -0.0505) if name.startswith("sole.n0") else tuned(55.18, -0.0607, -0.0502)


def h200(name: str) -> Reference | None:
    if ".of." in name or "over_direct" in name or ("__" in name and "staged" in name):
        return None
    if name.endswith(".staged"):
        return tuned(37.74, -0.1221, -0.101)
    if name.endswith(".total"):
        return tuned(780.7, -0.12, -0.0498)
    return tuned(393.7, -0.045, -0.03) if "_at_" in name else tuned(396.0, -0.045, -0.03)


@pytest.mark.parametrize(
    "case, verdict, slow, parts",
    [
        ("h100-x2-slow-link/healthy", "PASS", [], set()),
        ("h100-x2-slow-link/h2d-97", "PASS", [], set()),
        ("h100-x2-slow-link/h2d-95", "DEGRADED", ["sole.n0_g1"], {"g1.h2d"}),
        ("h100-x2-slow-link/h2d-93", "FAIL", ["sole.n0_g1"], {"g1.h2d"}),
        ("h100-x2-slow-link/h2d-67", "FAIL", ["sole.n0_g1", "sole.n0_g1__g1_n0.total"], {"g1.h2d"}),
        ("h100-x2-slow-link/d2h-93", "FAIL", ["sole.g1_n0"], {"g1.d2h"}),
        (
            "h200-x2-slow-nvlink/peer-94",
            "FAIL",
            ["NV18.g0_g1", "NV18.g1_g0", "NV18.g0_g1_at_g1", "NV18.g1_g0_at_g0", "NV18.g0_g1__g1_g0.total"],
            {"g0-g1.link"},
        ),
    ],
)
def test_a_slower_link_is_found_and_named(case: str, verdict: str, slow: list[str], parts: set[str]) -> None:
    check, limits = ("host_device_check", h100) if case.startswith("h100") else ("peer_check", h200)
    document = measurement.load(CHECKOUT / f"tests/data/{case}.json")
    metrics = question.named(check).figures(document, document.node)
    references = {each.name: limits(each.name) for each in metrics}
    subject = CaseInfo(check, "redwood", "gpu", "system", "vm", "2026-11-28T08:00:00Z")
    judged = judge(document, references, subject=subject, metrics=metrics, acceptance=False)
    assert judged.verdict == verdict, judged.reasons
    assert [metric.name for metric in judged.metrics if metric.verdict in ("FAIL", "DEGRADED")] == slow
    named = _sets_of_parts(document, metrics, references)
    assert named if parts else not named
    # Of what is ambiguous the part is one; no explanation is another one and something more.
    assert parts <= set().union(*named) and not any(one < other for one in named for other in named), named


def _sets_of_parts(
    document: Document, metrics: list[AnyMetric], references: Mapping[str, Reference | None]
) -> list[set[str]]:
    healthy = {}
    for metric in metrics:
        reference = references[metric.name]
        if reference is not None and (metric.flow is None or metric.cell.lone):
            slack, count = 1 - reference.degraded_below / reference.value, len(metric.cell.flows)
            healthy[metric.cell] = from_reference([reference.value / count] * count, [slack] * count, slack)
    found = diagnose(node_type_of(document.node, "vm"), measured_cells(document), tuned=healthy)
    return [{blame.part.name for blame in blames} for blames in (*found.sets, *found.undetermined)]
