"""Figures 5 and 9 of Spafford et al.: what binding_check measured of HPL and of applications beside the published losses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import verdict
from nearfar.measurement import PROGRAM, program_subject
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type
from nearfar.question import binding_check
from nearfar.topology import node_to_document
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs.synthetic import STARTED, Run

from .made_runs import SITE, Document
from .test_this_site import figures, rows

#: Program -> scheme -> how many times the reference's time. Made up.
RATIOS = {"hpl_keeneland": {"0-0-1": 1.05, "0-1-1": 1.25}, "lammps": {"wrong": 1.005}}


def written(folder: Path) -> Path:
    node = {**node_to_document(load_node_type("keeneland", [SITE]).node), "hostname": "kid107"}
    run = Run(folder, "mine", ["mine"], hostname="kid107")
    run.node("kid107", node)
    results: list[dict[str, Any]] = [
        {
            "quantity": PROGRAM, "cell": program_subject(name), "verified": None, "converged": True,
            "reference": "right", "at_most": None, "good": True, "words": "made up for a test",
            "flows": [{"flow": scheme, "rate": {"unit": "1", "median": ratio, "n": 6}} for scheme, ratio in ratios.items()],
        }
        for name, ratios in RATIOS.items()
    ]  # fmt: skip
    raw = {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar cost", "version": "0", "command": []},
        "started": STARTED, "seconds": 1.0, "node": node, "results": results, "skipped": [], "failed": [],
    }  # fmt: skip
    document = from_raw(json.loads(json.dumps(raw)))
    subject = CaseInfo("binding_check", "mine", "gpu", "system", "kid107", STARTED)
    judged = verdict.judge(document, {}, subject=subject, metrics=binding_check.figures(document))
    run.check("kid107", judged, Document(document.raw))  # type: ignore[arg-type]
    return run.finish()


def test_losses_by_binding_stand_beside_the_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "spafford2011", written(tmp_path / "run"))
    hpl = figures(found[10])["0-1-1 below 0-1-free, 64 nodes"]
    assert hpl["published"] == 21 and hpl["measured"] == pytest.approx(20), (
        "1.25 times the time is 20 % less of the rate"
    )
    assert "1.0 points less" in hpl["words"]
    lammps = figures(found[17])["LAMMPS, the least"]
    assert lammps["measured"] == pytest.approx(0.5, rel=0.01) and lammps["words"].startswith("as ")
    # What was not run says why, and what nobody can run today is said.
    assert figures(found[17])["GROMACS, the greatest (almost)"]["because"].startswith(
        "this run of binding_check has no such"
    )
    assert "Hirsch-Fye" in found[17]["lacks"] and "never free" in found[10]["lacks"]
