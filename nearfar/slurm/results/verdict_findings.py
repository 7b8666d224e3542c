"""What a check's verdict holds against a node: one finding for each figure or observation that is not PASS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import NOT_JUDGED, ORDER, Finding
from nearfar.verdict import JudgedMetric, Verdict


def findings(verdict: Verdict) -> list[dict[str, Any]]:
    """The findings of a check as ``result.json`` has them, worst first and hard ones before the others. What failed has its code
    (``wrong_data``, ``absent``, ``hang`` …)."""
    codes = {entry.cell: entry.code for entry in verdict.failed}
    well = ("PASS", NOT_JUDGED)
    found = [_from_finding(finding, codes) for finding in verdict.findings if finding.verdict not in well]
    found += [_from_metric(metric) for metric in verdict.metrics if metric.verdict not in well]
    return sorted(found, key=lambda finding: (ORDER.index(finding["verdict"]), not finding["hard"]))


def _from_finding(finding: Finding, codes: Mapping[str, str]) -> dict[str, Any]:
    item = finding.item
    return {
        "what": item, "verdict": finding.verdict, "hard": finding.hard, "code": codes.get(item),
        "cell": item if item in codes else None, "class": None, "value": None, "limit": None, "unit": None,
        "words": finding.reason,
    }  # fmt: skip


def _from_metric(metric: JudgedMetric) -> dict[str, Any]:
    return {
        "what": metric.name, "verdict": metric.verdict, "hard": False, "code": None, "cell": metric.subject,
        "class": metric.class_in_name, "value": metric.value, "limit": _limit(metric), "unit": metric.unit,
        "words": metric.full_reason,
    }  # fmt: skip


def _limit(metric: JudgedMetric) -> float | None:
    """The bound that a figure is outside of; None where it is inside or there is none."""
    if metric.verdict == "DEGRADED":
        above, value = metric.degraded_above, metric.value
        return above if above is not None and value is not None and value > above else metric.degraded_below
    reference, value = metric.reference, metric.value
    if reference is None or value is None:
        return None
    bounds = ((reference.lowest, True), (reference.highest, False))
    outside = (bound for bound, below in bounds if bound is not None and (value < bound if below else value > bound))
    return next(outside, None)
