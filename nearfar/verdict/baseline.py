"""A figure beside the node's own past: what is clearly worse than it was. Pure; where the past comes from is not known here."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base import statistics
from nearfar.measurement import MADE_OF_OTHERS, AnyMetric, Metric
from nearfar.verdict.references import with_unit

#: Fewer healthy runs are no past to speak of.
FEWEST = 5
#: What a figure may lie off the median of its past, as a part of it, however steady it was.
SLACK = {"lone": 0.03, "windowed": 0.06, "other": 0.10}
#: And in multiples of what it usually varies by (a robust standard deviation).
SPREADS = 5.0
_RATES = ("GB/s", "Mmsg/s", "GFLOP/s", "TFLOP/s")
_TIMES = ("us", "ns", "ms", "s")


@dataclass(frozen=True)
class Baseline:
    """A figure in a node's own healthy runs, the earliest first; ``since``: the day of the first, as 2026-11-01."""

    values: tuple[float, ...]
    since: str

    @property
    def median(self) -> float:
        """Of the runs."""
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """What runs differ by: 1.4826 times the median distance from the median, as a standard deviation."""
        return statistics.spread(self.values)

    def words(self, unit: str) -> str:
        """``55.3 GB/s before (5 runs since 2026-11-01)``."""
        return f"{with_unit(self.median, unit)} before ({len(self.values)} runs since {self.since})"


def worse(metric: AnyMetric, past: Baseline) -> bool:
    """Whether a figure is clearly worse than its past: by more than the slack, by more than five times what it varies
    by, and worse than it ever was. Of a figure that did not settle the better end of its interval counts.

    What is neither rate nor time, or is made of others, has no past; nor has a figure of fewer than five runs.
    """
    if len(past.values) < FEWEST or metric.quantity in MADE_OF_OTHERS or metric.unit not in (*_RATES, *_TIMES):
        return False
    off = max(SLACK[_kind(metric)] * past.median, SPREADS * past.spread)
    low, high = (metric.value, metric.value) if metric.converged or metric.ci is None else metric.ci
    if metric.unit in _TIMES:
        return low > max(past.median + off, *past.values)
    return high < min(past.median - off, *past.values)


def _kind(metric: AnyMetric) -> str:
    if not isinstance(metric, Metric) or metric.quantity != "copy":
        return "other"
    return "lone" if metric.cell.lone else "windowed"
