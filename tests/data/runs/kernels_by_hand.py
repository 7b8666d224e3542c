"""A run of both checks of kernels whose documents are made by hand (``tests/support/kernel_documents.py``): no figure was measured.

``python -m tests.data.runs.kernels_by_hand DIRECTORY [NODE TYPE]`` writes it, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearfar import question, verdict
from nearfar.measurement import Document
from nearfar.verdict import CaseInfo, references
from tests.data.runs.synthetic import Run
from tests.support import kernel_documents as made

STARTED = "2026-11-20T09:00:00Z"
CHECKS = ("gemm_check", "kernel_penalty_check")


def document(check: str, node_type: str = "keeneland", **more: Any) -> Document:
    """What the program would print for a check."""
    node = made.node_type(node_type)
    if check == "gemm_check":
        subjects = question.named(check).cells(node.node)[0]
        results = [
            each
            for subject in subjects
            for name in ("sgemm", "dgemm")
            for each in made.results_of(node, subject, name, "today")
        ]
        state = {"sm_clock_mhz": 1150, "power_w": 225.0, "temperature_c": 61, "throttle": ["sw_power_cap"]}
        results = [{**each, "gpu_state": state} for each in results]
    else:
        results = [*made.matrix_of(node), *made.every_path(node, **more)]
    return made.document(node, results, started=STARTED)


def judged(check: str, found: Document, system: str = "keeneland") -> verdict.Verdict:
    """The verdict of a document, without references of the site."""
    asked = question.named(check)
    figures = asked.figures(found, found.node)
    case = CaseInfo(check, system, "default", "system", "vm", STARTED)
    known = references.resolve(figures, check, [], found.node)
    return verdict.judge(found, known, subject=case, metrics=figures, findings=asked.findings(found))


def write(directory: Path, node_type: str = "keeneland", checks: Sequence[str] = CHECKS) -> Path:
    """The run."""
    run = Run(directory, "local", ["local"], hostname="vm")
    run.node("vm", document(checks[0], node_type).raw["node"])
    for check in checks:
        found = document(check, node_type)
        run.check("vm", judged(check, found), found)
    return run.finish()


if __name__ == "__main__":
    from nearfar import report

    print(report.summary(report.build(write(Path(sys.argv[1]), *sys.argv[2:3])).parent, colour=False))
