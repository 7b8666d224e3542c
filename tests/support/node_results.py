"""Results of node runs as sweeps leave them, made up: one check, and what it found."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from nearfar.slurm.results import publish_result, result
from nearfar.slurm.results.result import RunInfo

SYSTEM = "vm"


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def leave(
    results: Path, node: str, run: str, *, at: float, check: str = "host_device_check", speed: float | None = 55.0,
    wrong: str | None = None, indeterminate: str | None = None, kind: str = "measured", system: str = SYSTEM, sweep: str = "",
    job: int | None = 1, code: str = "wrong_data", took: float = 30.0, level: str = "nightly",
) -> Path:  # fmt: skip
    """A run that ended at ``at`` (seconds since 1970): D2H of GPU 2 at ``speed`` GB/s where 52.6 is the least, and what went
    wrong. Returns its place."""
    metrics = [] if speed is None else [_metric(speed)]
    findings = [_finding(wrong, "FAIL", True)] if wrong else []
    findings += [_finding(indeterminate, "INDETERMINATE", False)] if indeterminate else []
    found = [m["verdict"] for m in metrics] + [f["verdict"] for f in findings]
    verdict = next((word for word in ("FAIL", "INDETERMINATE", "PASS") if word in found), "PASS")
    folder = results.parent / f"run-{node}-{run}"
    (folder / node / check).mkdir(parents=True)
    failed = [{"cell": "g2:n0", "reason": wrong, "code": code}] if wrong else []
    (folder / node / check / "document.json").write_text(json.dumps({"failed": failed}))
    (folder / node / check / "verdict.json").write_text(json.dumps({
        "schema": "nearfar-verdict/1", "check": check, "system": system, "partition": "gpu", "environ": "system", "node": node,
        "kind": kind, "time": utc(at), "verdict": verdict, "reasons": [], "metrics": metrics, "findings": findings,
        "missing": [], "skipped": [], "provenance": {},
    }))  # fmt: skip
    (folder / "run.json").write_text(json.dumps({"system": system, "missing_cases": [], "interrupted": False}))
    about = RunInfo(
        nodes=(node,), hostname=node, level=level, sweep=sweep or f"s-{run}", started=utc(at - took), ended=utc(at),
        slurm=None if job is None else {"job": job, "partition": "all", "cluster": None},
    )  # fmt: skip
    place = publish_result.leave(folder, result.place(results, sweep or f"s-{run}", node, 1), about, run)
    os.utime(place, (at, at))
    return place


def _metric(speed: float) -> dict[str, Any]:
    slow = speed < 52.6
    return {
        "name": "sole.g2_n0", "cell": "g2:n0", "flow": None, "class": "sole", "quantity": "copy", "value": speed, "unit": "GB/s",
        "ci": None, "ceiling": None, "limited_by": [], "verdict": "FAIL" if slow else "PASS",
        "reason": f"GPU 2, device to host: {speed} GB/s, expected at least 52.6" if slow else None,
        "reference": {"value": 55.0, "lower": 52.6, "upper": None, "unit": "GB/s", "origin": "tuned", "note": "", "stale": False},
    }  # fmt: skip


def _finding(words: str, verdict: str, hard: bool) -> dict[str, Any]:
    return {"item": "g2:n0", "verdict": verdict, "reason": words, "hard": hard}
