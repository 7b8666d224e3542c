"""Nights of a system that nobody has: the real documents of ``tests/data/h200-x4`` under other names and days, their rates scaled."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.measurement.document import from_raw
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import ReferenceFile
from tests.data.runs import golden
from tests.data.runs.synthetic import Run

SYSTEM = "redwood"
Change = Callable[[dict[str, Any]], None]


def run(
    reports: Path,
    nodes: Mapping[str, float],
    day: str = "2026-11-20",
    checks: Sequence[str] = ("host_device_check",),
    change: Change | None = None,
    files: Sequence[ReferenceFile] = (),
    system: str = SYSTEM,
    at: str = "02:00:00",
) -> Path:
    """One run directory: every rate of each node times its factor; ``change`` may alter each raw document."""
    started = f"{day}T{at}Z"
    run = Run(reports / f"{day}T{at}".replace("-", "").replace(":", ""), system, [system], hostname="admin")
    for node, factor in nodes.items():
        for check in checks:
            raw = golden.raw(check, {})
            _rename(raw, node, started, factor)
            if change is not None:
                change(raw)
            document = from_raw(raw)
            run.node(node, document.raw["node"])
            metrics = measurement.metrics(document, document.node)
            found = references.resolve(metrics, check, files, document.node, stamp=raw["node"]["software"])
            subject = CaseInfo(check, system, "gpu", "system", node, started)
            judged = verdict.judge(document, found, subject=subject, metrics=metrics)
            run.check(node, judged, golden._Document(document.raw))  # type: ignore[arg-type]
    return run.finish()


def _rename(raw: dict[str, Any], node: str, started: str, factor: float) -> None:
    raw["started"] = started
    raw["node"]["hostname"] = node
    for gpu in raw["node"]["gpus"]:
        gpu["uuid"] = f"GPU-{node}-{gpu['index']}"
    for result in raw["results"]:
        result["converged"] = True
        for rate in [entry["rate"] for entry in result["flows"]] + ([result["total"]] if "total" in result else []):
            golden._scale(rate, factor)


def slow_gpu(index: int, factor: float) -> Change:
    """Every flow of one GPU times a factor."""

    def change(raw: dict[str, Any]) -> None:
        for result in raw["results"]:
            for entry in result["flows"]:
                if f"g{index}" in entry["flow"]:
                    golden._scale(entry["rate"], factor)
            if len(result["flows"]) > 1 and "total" in result:
                whole = sum(entry["rate"]["median"] for entry in result["flows"])
                golden._scale(result["total"], whole / result["total"]["median"])
            elif "total" in result:
                result["total"] = json.loads(json.dumps(result["flows"][0]["rate"]))

    return change
