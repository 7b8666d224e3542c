"""The measurement document: reading, validating, merging, and the metrics it holds. See docs/document.md."""

from __future__ import annotations

from .document import Document, FlowResult, Rate, Result, Unmeasured, dump, load, loads, merge, subject_key
from .metric import MADE_OF_OTHERS, RATIO, RATIO_UNIT, AnyMetric, Metric, SubjectMetric
from .metrics import metrics

__all__ = [
    "MADE_OF_OTHERS",
    "RATIO",
    "RATIO_UNIT",
    "AnyMetric",
    "Document",
    "FlowResult",
    "Metric",
    "Rate",
    "Result",
    "SubjectMetric",
    "Unmeasured",
    "dump",
    "load",
    "loads",
    "merge",
    "metrics",
    "subject_key",
]
