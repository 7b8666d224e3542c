"""Are the figures of one kind, or of two? The largest gap among them against the spread beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import statistics

#: Fewer figures have no groups that could be told from chance.
LEAST = 6
#: A group has so many figures at least, and this part of them: one bad node is an outlier, no mode.
LEAST_IN_GROUP, LEAST_PART = 2, 0.1
#: Spread below this part of the median is the resolution of the measurement.
_RESOLUTION = 0.0005


@dataclass(frozen=True)
class TwoGroups:
    """Two groups: the ``low`` ones' and the ``high`` ones' positions in the values, the gap between them, and how many times
    the spread within the groups it is."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    gap: float
    ratio: float


def split(values: Sequence[float]) -> TwoGroups | None:
    """The split at the largest gap that leaves both groups large enough; None where there are fewer than ``LEAST``."""
    n = len(values)
    least = max(LEAST_IN_GROUP, -(-n // round(1 / LEAST_PART)))
    if n < max(LEAST, 2 * least):
        return None
    order = sorted(range(n), key=values.__getitem__)
    ordered = [values[i] for i in order]
    at = max(range(least, n - least + 1), key=lambda i: ordered[i] - ordered[i - 1])
    gap = ordered[at] - ordered[at - 1]
    low, high = ordered[:at], ordered[at:]
    within = (statistics.deviation(low) * len(low) + statistics.deviation(high) * len(high)) / n
    spread = statistics.SIGMA_PER_MAD * max(within, _RESOLUTION * abs(statistics.median(ordered)))
    return TwoGroups(tuple(order[:at]), tuple(order[at:]), gap, gap / spread if spread else 0.0)
