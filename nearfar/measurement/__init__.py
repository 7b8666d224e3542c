"""The measurement document: reading, validating, merging, and the metrics it holds. See docs/document.md."""

from __future__ import annotations

from .document import Document, FlowResult, Rate, Result, Unmeasured, dump, load, loads, merge
from .metrics import Metric, metrics

__all__ = [
    "Document",
    "FlowResult",
    "Metric",
    "Rate",
    "Result",
    "Unmeasured",
    "dump",
    "load",
    "loads",
    "merge",
    "metrics",
]
