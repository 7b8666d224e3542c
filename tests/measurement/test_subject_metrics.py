"""Figures whose subject is no cell: read, referenced and judged like all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar import measurement
from nearfar.base import site_file
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.topology import node_to_document
from nearfar.verdict import verdict_file
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.judgement import judge
from nearfar.verdict.references import ReferenceFile, resolve
from tests.support.verdicts import subject_metric
from tests.verdict.test_references import CHECK, NODE

SUBJECT = CaseInfo(CHECK, "s", "p", "e", "h", "2026-11-20T09:00:00Z")
LATENCY = "osu_latency/H-H/same_numa"
ROWS = ("openmpi.same_numa.small", "same_numa.small")
METRIC = subject_metric(
    "same_numa.small", LATENCY, "same_numa", 0.5, "us", "mpi.latency", rows=ROWS, words="latency of 8 B"
)


def document(**more: Any) -> measurement.Document:
    rate = {"unit": "us", "median": 0.5, "ci": None, "n": 3}
    result = {"quantity": "mpi.latency", "cell": LATENCY, "bytes": 0, "converged": True, "verified": None,
              "flows": [{"flow": LATENCY, "rate": rate}]}  # fmt: skip
    raw = {"schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "osu"}, "results": [result],
           "node": node_to_document(NODE), "skipped": [], "failed": [], **more}  # fmt: skip
    return measurement.document.from_raw(raw)


def judged(doc: measurement.Document, references: Any = None, **more: Any) -> dict[str, Any]:
    found = verdict_file.to_raw(judge(doc, references or {}, subject=SUBJECT, metrics=[METRIC], **more))
    jsonschema.validate(found, site_file.schema("verdict-2"))
    return found


def reference_file(folder: Path, rows: str) -> ReferenceFile:
    path = folder / "refs.yaml"
    path.write_text(f"provenance: {{published: {{source: a paper, system: ours}}}}\n{CHECK}:\n{rows}")
    return ReferenceFile(path, [CHECK])


def test_a_result_of_zero_bytes_has_its_rate() -> None:
    (result,) = document().results
    assert (result.cell, result.bytes, result.flows) == (None, 0, ())
    assert result.rate is not None and (result.rate.median, result.rate.n) == (0.5, 3)


def test_it_stands_in_the_verdict_by_its_subject() -> None:
    (figure,) = judged(document())["metrics"]
    assert (figure["name"], figure["subject"], figure["path_class"]) == ("same_numa.small", LATENCY, "same_numa")
    assert figure["reason"] == "latency of 8 B: 0.50 us, not judged: no reference"


def test_a_subject_that_nothing_is_said_about() -> None:
    found = judged(document(), asked=[LATENCY, "osu_bw/H-H/same_numa"])
    assert (found["verdict"], found["missing"]) == ("INDETERMINATE", ["osu_bw/H-H/same_numa"])
    skipped = {"cell": "osu_bw/H-H/same_numa", "reason": "no second core", "code": "unsupported"}
    assert judged(document(skipped=[skipped]), asked=["osu_bw/H-H/same_numa"])["verdict"] == NOT_JUDGED


@pytest.mark.parametrize(
    "rows, verdict",
    [
        ("  same_numa.small: [0.4, null, 0.5, us]\n", "PASS"),
        ("  same_numa.small: [0.3, null, 0.5, us]\n", "FAIL"),
        ("  same_numa.small: [0.3, null, 0.5, us]\n  openmpi.same_numa.small: [0.5, null, 0.1, us]\n", "PASS"),
    ],
)
def test_the_most_precise_row_judges(tmp_path: Path, rows: str, verdict: str) -> None:
    references = resolve([METRIC], CHECK, [reference_file(tmp_path, rows)], NODE, system="ours")
    assert judged(document(), references)["verdict"] == verdict
