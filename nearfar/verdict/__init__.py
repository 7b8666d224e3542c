"""What was measured, held against what it should be: the judge, references, the node's own past, what a case and a run leave.

Gives ``judge`` (document × references × past → verdict) and the files of a run, read back. Pure but for these files.
Needs: base, topology, cells, measurement, model, question.
"""

from __future__ import annotations

from . import build_provenance, case_files, plausibility, run_directory, unused_references
from .baseline import Baseline
from .build_provenance import BuildProvenance, SoftwarePackage
from .judgement import HISTORY, UNJUDGED, CaseInfo, KnownPath, headline, judge, needs_sanity
from .plausibility import row_fault
from .run_directory import CheckRecord, NodeRun, RunDirectory, bounded

__all__ = [
    "HISTORY",
    "UNJUDGED",
    "Baseline",
    "BuildProvenance",
    "CaseInfo",
    "CheckRecord",
    "KnownPath",
    "NodeRun",
    "RunDirectory",
    "SoftwarePackage",
    "bounded",
    "build_provenance",
    "case_files",
    "headline",
    "judge",
    "needs_sanity",
    "plausibility",
    "row_fault",
    "run_directory",
    "unused_references",
]
