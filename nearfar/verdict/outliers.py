"""Single transfers that took many times as long as the others: no median and no rate sees them, and no reference is needed to. Pure.

Why eight, and what a tuned row says: docs/method/measuring.md, Tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearfar.base import NOT_JUDGED
from nearfar.measurement import AnyMetric

from .verdict_types import JudgedMetric
from .words import describe

#: The slowest of many transfers over the median one; published outliers are 16, on H200s of a shared host it was 1.04 to 1.10.
OUTLIER = 8.0
_WORST = "tail_worst"


def apply(metrics: Sequence[AnyMetric], judged: Sequence[JudgedMetric], host: str) -> list[JudgedMetric]:
    """The figures, with DEGRADED for an outlier that no reference judges, on an ``own`` host. On a ``shared`` one it may be a
    neighbour's, and is only told (``tail_check``)."""
    if host != "own":
        return list(judged)
    return [_judged(metric, entry) for metric, entry in zip(metrics, judged, strict=True)]


def _judged(metric: AnyMetric, entry: JudgedMetric) -> JudgedMetric:
    if metric.derived != _WORST or metric.value < OUTLIER or entry.verdict != NOT_JUDGED:
        return entry
    reason = f"{describe(metric)}: {metric.value:.1f} times as long; {OUTLIER:g} times and more is an outlier"
    return replace(entry, verdict="DEGRADED", reason=reason)
