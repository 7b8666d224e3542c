"""The measurement document: reading, validating, merging, and the metrics it holds. See docs/reference/document.md.

Needs: base, topology, cells.
"""

from __future__ import annotations

from . import consistency
from .codes import EXPECTED_SKIPS, HARDWARE_THROTTLES, SOFT_FAILURES
from .derived import quotient
from .document import (
    CELL_QUANTITIES,
    SCHEMA,
    Conditions,
    Document,
    FlowResult,
    Rate,
    Result,
    SampleStatistics,
    Unmeasured,
    dump,
    figure_of,
    from_raw,
    load,
    loads,
    shared,
    software_names,
    subject_key,
    without_samples,
)
from .document_metrics import metrics
from .figure_kinds import figure_kind
from .machine import GpuProcess, MachineUse, machine_uses
from .merging import merge
from .metric import (
    COMPUTE_UNITS,
    EXPLAINING,
    MADE_OF_OTHERS,
    OF_ANOTHER_TOOL,
    PROGRAM,
    RATIO,
    RATIO_UNIT,
    SIZE_UNIT,
    SUSTAINED_RATE,
    TASK,
    TIME_UNITS,
    AnyMetric,
    BaseMetric,
    GpuState,
    Metric,
    SubjectMetric,
    program_subject,
)
from .parts import part
from .run_documents import DOCUMENT, DOCUMENTS_HELP, named_documents
from .tail import Tail
