"""A sweep's second stage as it lies in a results directory, made up: what each pair of nodes measured between them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import Unmeasured
from nearfar.slurm.results import publish_result, result
from nearfar.slurm.results.result import RunInfo
from nearfar.slurm.sweep.sweep_file import SweepJob
from nearfar.verdict import JudgedMetric, JudgedReference, verdict_file
from tests.support.node_results import SYSTEM, utc
from tests.support.sweeping import planned
from tests.support.verdicts import judged, judged_metric

#: Between two nodes, and within one.
BETWEEN, WITHIN = "osu_latency/H-H/near/mlx5_0", "osu_latency/H-H/same_numa_node"
LATENCY = "near.osu_latency.H_H.mlx5_0.8B"


def figure(value: float, cell: str = BETWEEN, name: str = LATENCY) -> JudgedMetric:
    """A latency in us, of which 2.0 is the most."""
    return judged_metric(
        name=name, subject=cell, quantity="mpi.latency", question="osu_latency", gpus=(), engine="mpi", value=value, unit="us",
        verdict="FAIL" if value > 2 else "PASS",
        reason=f"latency between nodes: {value} us, expected at most 2.0" if value > 2 else None,
        reference=JudgedReference(1.7, None, 2.0, "us", "tuned", "", False),
    )  # fmt: skip


def verdict_of(
    host: str, metrics: Sequence[JudgedMetric], wrong: str = "", unclear: str = "", system: str = SYSTEM
) -> str:  # fmt: skip
    """The text of ``osu_check``'s ``verdict.json``."""
    findings = [Finding(BETWEEN, "FAIL", wrong, True, "cell.wrong_data")] if wrong else []
    findings += [Finding(BETWEEN, "INDETERMINATE", unclear)] if unclear else []
    words = [*(metric.verdict for metric in metrics), *(finding.verdict for finding in findings)]
    worst = next((word for word in ("FAIL", "INDETERMINATE") if word in words), "PASS")
    failed = (Unmeasured(BETWEEN, wrong, "wrong_data"),) if wrong else ()
    return verdict_file.dump(
        judged("osu_check", *metrics, system=system, node=host, verdict=worst, findings=tuple(findings), failed=failed)
    )


def leave(results: Path, sweep: str, at: float, pairs: Mapping[str, Mapping[str, Any]]) -> None:
    """Pairs (``n1+n2``: what ``verdict_of`` takes), measured by ``at``."""
    publish_result.make_for_all(results / sweep)
    jobs = [SweepJob(tuple(name.split("+")), 1, 1, "COMPLETED", "", True, True) for name in pairs]
    planned(results / sweep, jobs, started=at - 900, deadline=at + 900).save()
    for name, measured in pairs.items():
        host = name.split("+")[0]
        run = results.parent / f"run-{sweep}-{name}"
        (run / host / "osu_check").mkdir(parents=True)
        (run / host / "osu_check/verdict.json").write_text(verdict_of(host, **measured))
        (run / host / "osu_check/document.json").write_text("{}")
        (run / "run.json").write_text(json.dumps({"system": SYSTEM, "missing_cases": [], "interrupted": False}))
        about = RunInfo(
            nodes=tuple(name.split("+")),
            hostname=host,
            level="mpi-pair",
            sweep=sweep,
            started=utc(at - 600),
            ended=utc(at),
        )
        one, other = (node[1:] for node in name.split("+"))
        publish_result.leave(
            run, result.place(results, sweep, name, 1), about, f"{ord(sweep[0]):04x}{one:0>2}{other:0>2}"
        )
