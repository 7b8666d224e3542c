"""The run on four H200s of ``tests/data/h200-x4`` as a run directory, judged for real; its flows may be slowed down.

``python -m tests.data.runs.golden DIRECTORY [g2:n0=0.5 …]`` writes it, to be looked at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.measurement.document import from_raw
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import ReferenceFile
from tests.data.runs.synthetic import Run

REAL = Path(__file__).parents[1] / "h200-x4"
CHECKS = ("host_memory_check", "host_device_check", "peer_check", "saturation_check", "sharing_check")


class _Document:
    """What ``Run.check`` takes of a document."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw


def raw(check: str, slow: Mapping[str, float]) -> dict[str, Any]:
    """A document with the flows of ``slow`` times a factor, in whatever cell they are."""
    document: dict[str, Any] = json.loads((REAL / f"{check}.json").read_text())
    for result in document["results"]:
        before = sum(entry["rate"]["median"] for entry in result["flows"])
        for entry in result["flows"]:
            _scale(entry["rate"], slow.get(entry["flow"], 1.0))
        if "total" in result:  # medians of flows need not add up to the median of their sums
            _scale(result["total"], sum(entry["rate"]["median"] for entry in result["flows"]) / before)
    return document


def _scale(rate: dict[str, Any], factor: float) -> None:
    for key in ("median", "mad", "min", "max"):
        rate[key] *= factor
    for key in ("ci", "samples"):
        if key in rate:
            rate[key] = [value * factor for value in rate[key]]


def write(directory: Path, checks: Sequence[str] = CHECKS, slow: Mapping[str, float] | None = None,
          files: Sequence[ReferenceFile] = ()) -> Path:  # fmt: skip
    """The run of these checks, judged by these reference files."""
    run = Run(directory, "local", ["local"], hostname="vm")
    run.node("vm", json.loads((REAL / "node.json").read_text()))
    for check in checks:
        document = from_raw(raw(check, slow or {}))
        metrics = measurement.metrics(document, document.node)
        found = references.resolve(metrics, check, files, document.node)
        subject = CaseInfo(check, "local", "default", "system", "vm", document.raw["started"])
        judged = verdict.judge(document, found, subject=subject, metrics=metrics)
        run.check("vm", judged, _Document(document.raw))  # type: ignore[arg-type]
    return run.finish()


if __name__ == "__main__":
    from nearfar import report

    where, *words = sys.argv[1:]
    factors = {word.partition("=")[0]: float(word.partition("=")[2]) for word in words}
    print(report.summary(report.build(write(Path(where), slow=factors)).parent, colour=False))
