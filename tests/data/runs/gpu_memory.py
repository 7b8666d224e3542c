"""The run on two H200s of ``tests/data/h200-x2-memory`` as a run directory, judged as an untuned node is.

``python -m tests.data.runs.gpu_memory DIRECTORY [g1:g1/triad=0.9 …]`` writes it, with flows slowed down, to be looked at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.measurement.document import from_raw
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs.synthetic import Run

REAL = Path(__file__).parents[1] / "h200-x2-memory"
CHECKS = ("gpu_memory_check", "memory_kernels_check")


class _Document:
    """What ``Run.check`` takes of a document."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw


def raw(check: str, slow: Mapping[str, float] | None = None) -> dict[str, Any]:
    """A document with the lone cells of ``slow`` times a factor."""
    document: dict[str, Any] = json.loads((REAL / f"{check}.json").read_text())
    for result in document["results"]:
        factor = (slow or {}).get(result["cell"], 1.0)
        for rate in (result["flows"][0]["rate"], result["total"]):
            for key in ("plateau", "median", "mad", "min", "max"):
                if key in rate:
                    rate[key] *= factor
            for key in ("interval", "ci", "samples"):
                if key in rate:
                    rate[key] = [value * factor for value in rate[key]]
    return document


def judged(check: str, slow: Mapping[str, float] | None = None) -> verdict.Verdict:
    """The verdict of a check's document with what is known of GPU models, and no reference of the site."""
    document = from_raw(raw(check, slow))
    metrics = measurement.metrics(document, document.node)
    ranges = references.model_ranges.read([CHECKOUT / "site"])
    found = references.resolve(metrics, check, [], document.node, ranges=ranges)
    subject = CaseInfo(check, "local", "default", "system", "vm", document.raw["started"])
    return verdict.judge(document, found, subject=subject, metrics=metrics)


def write(directory: Path, slow: Mapping[str, float] | None = None) -> Path:
    """The run of both checks."""
    run = Run(directory, "local", ["local"], hostname="vm")
    run.node("vm", raw(CHECKS[0])["node"])
    for check in CHECKS:
        run.check("vm", judged(check, slow), _Document(raw(check, slow)))  # type: ignore[arg-type]
    return run.finish()


if __name__ == "__main__":
    from nearfar import report

    where, *words = sys.argv[1:]
    factors = {word.partition("=")[0]: float(word.partition("=")[2]) for word in words}
    print(report.summary(report.build(write(Path(where), factors)).parent, colour=False))
