"""A figure of several runs, with an interval where there are enough of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.base import statistics

#: Runs agree when they all lie within this part of their median.
AGREEMENT = 0.05
#: Runs that are as close as this need no further one.
CLOSE = 0.02
#: Fewer runs have no interval.
LEAST_RUNS = statistics.LEAST_FOR_INTERVAL


def rate(samples: Sequence[float], unit: str) -> dict[str, Any]:
    """The document's rate of one figure; ``n`` is the number of runs, whatever each repeated within itself."""
    interval = statistics.median_interval(samples)
    return {
        "unit": unit, "median": statistics.median(samples),
        "mad": statistics.deviation(samples),
        "ci": None if interval is None else list(interval), "min": min(samples), "max": max(samples), "n": len(samples),
        "samples": list(samples),
    }  # fmt: skip


def agree(samples: Sequence[float], within: float = AGREEMENT) -> bool:
    """Whether the runs agree; a single one agrees with nothing."""
    middle = statistics.median(samples)
    return len(samples) > 1 and max(abs(value - middle) for value in samples) <= within * middle
