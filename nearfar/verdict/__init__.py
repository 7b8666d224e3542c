"""What was measured, held against what it should be: the judge, references, the node's history, what a case and a run leave.

Gives ``judge`` (document × references × past → ``Verdict``), ``verdict.json`` and the other files of a run, read back. The judge
is pure; ``references`` reads the site's files. ``look_again`` is started by itself on a node (``python -m
nearfar.verdict.look_again``) and is therefore not imported here.

Needs: base, topology, cells, measurement, model.prediction, question.
"""

from __future__ import annotations

from . import (
    baseline,
    build_provenance,
    case_files,
    disturbances,
    document_facts,
    look_plan,
    plausibility,
    run_directory,
    thresholds,
    verdict_file,
)
from .baseline import Baseline, Night
from .build_provenance import BuildProvenance, SoftwarePackage
from .document_findings import UNJUDGED, CaseInfo, KnownPath, from_unused_references
from .judgement import HISTORY, headline, judge, needs_sanity, of_one_run
from .look_plan import LookPlan
from .looks import LaterLook
from .messages import FELL_TOGETHER, NOT_ACCEPTED, SIBLINGS_ONLY, UNREFERENCED
from .plausibility import row_fault
from .run_directory import CheckRecord, NodeRun, RunDirectory
from .verdict_types import (
    FigureLook,
    JudgedMetric,
    JudgedReference,
    MeasuredGpu,
    Verdict,
    cell_of,
)
