"""Verdicts made up for tests: whole ones, of which a test says what it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nearfar.cells import encode_cell, parse
from nearfar.measurement import SubjectMetric
from nearfar.verdict import JudgedMetric, Verdict

TIME = "2026-11-20T09:00:00Z"


def judged_metric(**parts: Any) -> JudgedMetric:
    """A copy from NUMA node 0 to GPU 0 that passed, with these parts."""
    subject = parts.get("subject", "n0:g0")
    name = parts.get("name") or f"near.{encode_cell(parse(subject))}"
    whole: dict[str, Any] = {
        "name": name, "quantity": "copy", "subject": subject, "flow": None, "bytes": 1 << 28, "path_class": "near", "question": "h2d",
        "derived": "", "gpus": (0,), "engine": "ce", "value": 55.0, "unit": "GB/s", "interval": None, "n": 9, "least": None,
        "most": None, "samples": (), "converged": True, "verified": True, "limited_by": (), "ceiling": None, "rows": (name,),
        "beside": (), "remeasured": False, "throttled": False, "contended": False, "reference": None, "degraded_below": None,
        "baseline": None, "verdict": "PASS", "reason": None,
    }  # fmt: skip
    return JudgedMetric(**{**whole, **parts})


def subject_metric(
    name: str, subject: str, path_class: str, value: float, unit: str, quantity: str, **parts: Any
) -> SubjectMetric:
    """A figure of what is no cell."""
    about = {"words": name, **parts}
    return SubjectMetric(
        name=name, subject=subject, path_class=path_class, value=value, unit=unit, quantity=quantity, **about
    )


def judged(check: str, *metrics: JudgedMetric, **parts: Any) -> Verdict:
    """A check's verdict on node ``n``, with these parts."""
    whole: dict[str, Any] = {
        "system": "s", "partition": "gpu", "environ": "system", "node": "n", "kind": "measured", "time": TIME, "verdict": "PASS",
        "reasons": (), "findings": (), "missing": (), "failed": (), "skipped": (), "left_out": (), "measurement": None,
        "references": (), "software": {},
    }  # fmt: skip
    return Verdict(check=check, metrics=metrics, **{**whole, **parts})


def change_document(verdict: Path, **parts: Any) -> None:
    """Change parts of the measurement document in a ``verdict.json``."""
    raw = json.loads(verdict.read_text())
    raw["document"].update(parts)
    verdict.write_text(json.dumps(raw))
