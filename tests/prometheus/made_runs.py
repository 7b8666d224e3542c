"""Runs made up for tests of what Prometheus is told: one node, two checks, something of each kind."""

from __future__ import annotations

import json
from pathlib import Path

from nearfar.base import Finding
from nearfar.verdict import JudgedReference, verdict_file
from tests.support.verdicts import judged, judged_metric

NODE = "n1"


def run(folder: Path, *, kind: str = "measured", what: str = "g2") -> Path:
    """A run of ``n1``: two rates with a reference, one of which is too low, one without, a latency, a ratio, and an absent GPU."""
    good = JudgedReference(55.0, 52.6, None, "GB/s", "tuned", "", False)
    metrics = (
        judged_metric(subject="n0:g0", value=55.0, reference=good),
        judged_metric(subject="n0:g1", value=27.1, reference=good, verdict="FAIL", gpus=(1,)),
        judged_metric(subject="g0:n0", value=50.0, question="d2h", verdict="not judged"),
        judged_metric(
            name="near.n0_g0_over", subject="n0:g0", quantity="ratio", derived="fairness", value=0.5, unit="1", verdict="not judged"
        ),
    )  # fmt: skip
    slow = judged_metric(
        name="lat", subject="n0:g0", quantity="latency.copy", value=6.5, unit="us", derived="latency_copy",
        reference=JudgedReference(6.0, None, 9.0, "us", "tuned", "", False),
    )  # fmt: skip
    absent = Finding(what, "FAIL", "GPU 2 is absent", True)
    verdicts = (
        judged("host_device_check", *metrics, system="vm", node=NODE, kind=kind, verdict="FAIL", software={"driver": "580"}),
        judged("latency_check", slow, system="vm", node=NODE, kind=kind, verdict="PASS"),
        judged("topology_check", system="vm", node=NODE, kind=kind, verdict="FAIL", findings=(absent, Finding("x", "PASS", ""))),
    )  # fmt: skip
    for verdict in verdicts:
        own = folder / (NODE if kind == "measured" else "type-modelled") / verdict.check
        own.mkdir(parents=True)
        (own / "verdict.json").write_text(verdict_file.dump(verdict))
    about = {
        "schema": "nearfar-run/1", "system": "vm", "started": "2026-11-20T09:00:00Z", "seconds": 61.5, "verdict": "FAIL",
        "missing_cases": [], "interrupted": False,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(about))
    return folder
