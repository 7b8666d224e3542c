"""Statistics that stay true with a few wild values: median, its deviation, its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

#: Of normal data the standard deviation is so many median absolute deviations.
SIGMA_PER_MAD = 1.4826
#: The interval of a median has at least this probability.
CONFIDENCE = 0.95
#: Fewer values have no interval.
LEAST_FOR_INTERVAL = 6


def deviation(values: Iterable[float]) -> float:
    """The median absolute deviation from the median."""
    known = list(values)
    middle = median(known)
    return median(abs(value - middle) for value in known)


def spread(values: Iterable[float]) -> float:
    """What the median absolute deviation says of the standard deviation, were the values normal."""
    return SIGMA_PER_MAD * deviation(values)


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The narrowest pair of order statistics that holds the median with ``CONFIDENCE``; None with fewer than six values."""
    n, ordered = len(values), sorted(values)
    tail, interval = 0.0, None
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 1 - 2 * tail < CONFIDENCE:
            break
        interval = ordered[k], ordered[n - 1 - k]
    return interval
