"""A figure of several runs, with an interval where there are enough of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

#: The interval of the median has at least this probability.
CONFIDENCE = 0.95
#: Runs agree when they all lie within this part of their median.
AGREEMENT = 0.05
#: Runs that are as close as this need no further one.
CLOSE = 0.02
#: Fewer runs have no interval.
LEAST_RUNS = 6


def rate(samples: Sequence[float], unit: str) -> dict[str, Any]:
    """The document's rate of one figure; ``n`` is the number of runs, whatever each repeated within itself."""
    middle = statistics.median(samples)
    return {
        "unit": unit, "median": middle, "mad": statistics.median(abs(value - middle) for value in samples),
        "ci": interval(samples), "min": min(samples), "max": max(samples), "n": len(samples), "samples": list(samples),
    }  # fmt: skip


def interval(samples: Sequence[float]) -> list[float] | None:
    """The narrowest order-statistic interval of the median with ``CONFIDENCE``; None with fewer than six samples, which
    have none."""
    n, ordered = len(samples), sorted(samples)
    tail, found = 0.0, None
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 1 - 2 * tail < CONFIDENCE:
            break
        found = [ordered[k], ordered[n - 1 - k]]
    return found


def agree(samples: Sequence[float], within: float = AGREEMENT) -> bool:
    """Whether the runs agree; a single one agrees with nothing."""
    middle = statistics.median(samples)
    return len(samples) > 1 and max(abs(value - middle) for value in samples) <= within * middle
