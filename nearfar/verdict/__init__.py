"""What was measured, held against what it should be: the judge, references, the node's own past, what a case and a run leave.

Gives ``judge`` (document × references × past → verdict) and the files of a run, read back. Pure but for these files.
Needs: base, topology, cells, measurement, model, question.
"""

from __future__ import annotations

from . import build_provenance, case_files, plausibility, run_directory, unused_references
from .baseline import Past
from .build_provenance import Origin, Package
from .judgement import HISTORY, UNJUDGED, Known, Subject, headline, judge, needs_sanity
from .plausibility import row_fault
from .run_directory import Check, NodeRun, Run, bounded, check_rank

__all__ = [
    "HISTORY",
    "UNJUDGED",
    "Check",
    "Known",
    "NodeRun",
    "Origin",
    "Package",
    "Past",
    "Run",
    "Subject",
    "bounded",
    "build_provenance",
    "case_files",
    "check_rank",
    "headline",
    "judge",
    "needs_sanity",
    "plausibility",
    "row_fault",
    "run_directory",
    "unused_references",
]
