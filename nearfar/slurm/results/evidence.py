"""What a check's ``verdict.json`` holds against a node: one finding for each figure or observation that is not PASS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.base import NOT_JUDGED, ORDER


def findings(verdict: Mapping[str, Any], document: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The findings of a check as ``result.json`` has them, worst first and hard ones before the others.

    ``document`` tells the code of what failed (``wrong_data``, ``absent``, ``hang`` …).
    """
    codes = {str(entry.get("cell")): entry.get("code") for entry in (document or {}).get("failed", [])}
    well = ("PASS", NOT_JUDGED)
    found = [_from_finding(entry, codes) for entry in verdict["findings"] if entry["verdict"] not in well]
    found += [_from_metric(entry) for entry in verdict["metrics"] if entry["verdict"] not in well]
    return sorted(found, key=lambda finding: (ORDER.index(finding["verdict"]), not finding["hard"]))


def _from_finding(entry: Mapping[str, Any], codes: Mapping[str, Any]) -> dict[str, Any]:
    item = str(entry["item"])
    return {
        "what": item, "verdict": entry["verdict"], "hard": bool(entry["hard"]), "code": codes.get(item),
        "cell": item if item in codes else None, "class": None, "value": None, "limit": None, "unit": None,
        "words": entry["reason"],
    }  # fmt: skip


def _from_metric(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "what": entry["name"], "verdict": entry["verdict"], "hard": False, "code": None, "cell": entry["cell"],
        "class": entry["class"], "value": entry["value"], "limit": _limit(entry), "unit": entry["unit"],
        "words": entry["reason"] or "",
    }  # fmt: skip


def _limit(entry: Mapping[str, Any]) -> float | None:
    """The bound that a figure is outside of; None where it is inside or there is none."""
    reference, value = entry.get("reference") or {}, entry["value"]
    if entry["verdict"] == "DEGRADED":
        limit: float | None = entry.get("degraded_below")
        return limit
    bounds: Sequence[tuple[float | None, bool]] = [(reference.get("lower"), True), (reference.get("upper"), False)]
    outside = (bound for bound, below in bounds if bound is not None and (value < bound if below else value > bound))
    return next(outside, None)
