"""What a check's verdict holds against a node: one finding for each figure or observation that is not PASS."""

from __future__ import annotations

from typing import Any

from nearfar.base import NOT_JUDGED, ORDER, Finding
from nearfar.verdict import JudgedMetric, Verdict

from .result import FIGURE


def findings(verdict: Verdict) -> list[dict[str, Any]]:
    """The findings of a check as ``result.json`` has them, worst first and hard ones before the others."""
    codes, well = {entry.cell: f"cell.{entry.code}" for entry in verdict.failed}, ("PASS", NOT_JUDGED)
    found = [
        {**_raw(each), "code": each.code or codes.get(each.item), "cell": each.item if each.item in codes else None}
        for each in verdict.findings if each.verdict not in well
    ]  # fmt: skip
    found += [
        {**_raw(Finding(each.name, each.verdict, each.full_reason, code=each.code)), "cell": each.subject, "class": each.class_in_name,
         "value": each.value, "limit": _limit(each), "unit": each.unit}
        for each in verdict.metrics if each.verdict not in well
    ]  # fmt: skip
    return sorted(found, key=lambda finding: (ORDER.index(finding["verdict"]), not finding["hard"]))


def _raw(finding: Finding) -> dict[str, Any]:
    return {
        "what": finding.item, "verdict": finding.verdict, "hard": finding.hard, "code": finding.code or None, **dict.fromkeys(FIGURE),
        "words": finding.reason, "fields": dict(finding.fields),
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
