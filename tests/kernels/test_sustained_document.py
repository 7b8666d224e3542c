"""What nearfar-kernels --sustain 20 printed on an H100 (2026-11-27): a node is accepted by it before a reference is tuned."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from nearfar import kernels, measurement, question, verdict
from nearfar.base import NOT_JUDGED
from nearfar.verdict import CaseInfo, references

RAW = measurement.load(Path(__file__).parents[1] / "data/h100-x1/burn_check.json").raw
ASKED = question.named("burn_check")


def judged(raw: dict[str, Any]) -> verdict.Verdict:
    """The verdict of an acceptance, without references."""
    document = measurement.from_raw(raw)
    figures = ASKED.figures(document, document.node)
    case = CaseInfo("burn_check", "local", "default", "system", "h100", str(raw["started"]))
    return verdict.judge(
        document, references.resolve(figures, "burn_check", [], document.node), subject=case, metrics=figures,
        asked=ASKED.cells(document.node)[0], findings=ASKED.findings(document), quantities=ASKED.quantities,
        acceptance=True, must_judge=True,
    )  # fmt: skip


def test_right_products_below_the_power_limit_are_accepted() -> None:
    found = judged(RAW)
    assert found.verdict == "PASS", found.reasons
    (rate,) = found.metrics
    assert rate.verdict == NOT_JUDGED and 700_000 < rate.value < 760_000 and not rate.throttled
    assert "all 13," in kernels.sustained.findings(measurement.from_raw(RAW))[0].reason


def test_heat_at_full_load_is_not_accepted() -> None:
    raw = copy.deepcopy(RAW)
    raw["results"][0]["series"][7]["throttle"] = ["hw_thermal"]
    found = judged(raw)
    assert found.verdict == "FAIL" and "first in second 8" in found.reasons[0], found.reasons
