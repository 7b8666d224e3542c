"""Results of node runs as sweeps leave them, made up: one check, and what it found."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import Finding
from nearfar.measurement import Unmeasured
from nearfar.slurm.results import publish_result, result
from nearfar.slurm.results.result import RunInfo
from nearfar.verdict import FigureLook, JudgedMetric, JudgedReference, Verdict, of_one_run, verdict_file
from tests.support.verdicts import TIME, judged, judged_metric

SYSTEM = "vm"


def utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def leave(
    results: Path, node: str, run: str, *, at: float, check: str = "host_device_check", speed: float | None = 55.0,
    wrong: str | None = None, indeterminate: str | None = None, kind: str = "measured", system: str = SYSTEM, sweep: str = "",
    job: int | None = 1, code: str = "wrong_data", took: float = 30.0, level: str = "nightly", stale: str = "",
    looks: tuple[float, ...] = (), beside: Sequence[Verdict] = (),
) -> Path:  # fmt: skip
    """A run that ended at ``at`` (seconds since 1970): D2H of GPU 2 at ``speed`` GB/s where 52.6 is the least, and what went
    wrong. ``stale``: how a reference tuned with other software judged (empty: it is fresh); ``looks`` are all
    times that it was measured; ``beside``: verdicts of other checks of the run. Returns its place."""
    metrics = [] if speed is None else [_metric(speed, stale, looks)]
    findings = [Finding("g2:n0", "FAIL", wrong, True, f"cell.{code}")] if wrong else []
    findings += [Finding("g2:n0", "INDETERMINATE", indeterminate)] if indeterminate else []
    found = [*(metric.verdict for metric in metrics), *(finding.verdict for finding in findings)]
    verdict = next((word for word in ("FAIL", "INDETERMINATE", "DEGRADED", "PASS") if word in found), "PASS")
    folder = results.parent / f"run-{node}-{run}"
    whole = judged(
        check, *metrics, system=system, node=node, kind=kind, time=utc(at), verdict=verdict, findings=tuple(findings),
        failed=(Unmeasured("g2:n0", wrong, code),) if wrong else (),
    )  # fmt: skip
    others = [replace(other, system=system, node=node, time=utc(at)) for other in beside]
    for each in of_one_run([whole, *others]):
        own = folder / node / each.check
        own.mkdir(parents=True)
        (own / "document.json").write_text("{}")
        (own / "verdict.json").write_text(verdict_file.dump(each))
    (folder / "run.json").write_text(json.dumps({"system": system, "missing_cases": [], "interrupted": False}))
    about = RunInfo(
        nodes=(node,), hostname=node, level=level, sweep=sweep or f"s-{run}", started=utc(at - took), ended=utc(at),
        slurm=None if job is None else {"job": job, "partition": "all", "cluster": None},
    )  # fmt: skip
    place = publish_result.leave(folder, result.place(results, sweep or f"s-{run}", node, 1), about, run)
    os.utime(place, (at, at))
    return place


def fell_together() -> Verdict:
    """A check whose one figure is FAIL with the host's other paths."""
    figure = judged_metric(
        verdict="FAIL", value=30.0, reason="H2D of GPU 0 is slow", code="figure.fell_together", disturbance="host"
    )
    return judged("peer_check", figure, verdict="FAIL")


def _metric(speed: float, stale: str, looks: tuple[float, ...]) -> JudgedMetric:
    slow, unsteady = speed < 52.6, any(each < 52.6 for each in looks)
    word = "FAIL" if slow else "DEGRADED" if unsteady else "PASS"
    return judged_metric(
        name="sole.g2_n0", subject="g2:n0", path_class="sole", question="d2h", gpus=(2,), value=speed,
        verdict=word, reason=f"GPU 2, device to host: {speed} GB/s, expected at least 52.6" if slow else None,
        reference=JudgedReference(55.0, 52.6, None, "GB/s", "tuned", "", stale != "", None, stale or None),
        looks=tuple(FigureLook(each, TIME, each < 52.6) for each in looks),
    )  # fmt: skip
