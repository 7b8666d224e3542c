"""What one scheme costs against another, from runs in pairs: the median of their ratios, and an interval that holds at every look. Pure.

A pair is two runs of one block, which follow each other in random order. Were both schemes alike, each pair's ratio would be as often
above 1 as below, whatever the machine does and however the times are distributed. So the interval is made of order statistics, and
because it is looked at after every block, the chance of being wrong at any of these looks is bounded, not that of one.
benchmarks/studies/cost.md has the derivation and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from nearfar.base import statistics

#: The chance that the intervals of a comparison, of all looks together, miss the median.
CHANCE = 0.05
#: Fewer pairs have no interval: six that all say the same are the least that chance does not often make.
LEAST_PAIRS = 6
#: Pairs at most.
MOST_PAIRS = 200
#: Against rounding: the chance that is spent at six pairs is exactly that of six alike.
_EXACT = 1e-12


@dataclass(frozen=True)
class Penalty:
    """What a scheme costs against the reference, as a part: 0.2 is 20 % more time, or 20 % less of what should be much.

    ``interval`` is None with fewer than ``LEAST_PAIRS`` pairs; ``least`` and ``most`` are those of single pairs."""

    pairs: int
    value: float
    interval: tuple[float, float] | None
    least: float
    most: float

    def above(self, bound: float) -> bool | None:
        """Whether it is above a bound: None where that is not settled."""
        if self.interval is None or self.interval[0] <= bound <= self.interval[1]:
            return None
        return self.interval[0] > bound

    def within(self, resolution: float) -> bool:
        """Whether it is settled that it is no more than so much, to either side."""
        return self.interval is not None and -resolution <= self.interval[0] and self.interval[1] <= resolution


def penalty(reference: Sequence[float], scheme: Sequence[float], less_is_better: bool) -> Penalty:
    """The penalty of a scheme: figures of both by block, in the same order, all above 0. Raises ``ValueError`` for no pair."""
    ratios = sorted(own / other for other, own in zip(reference, scheme, strict=True))
    if not less_is_better:
        ratios.reverse()
    turn = 1 if less_is_better else -1
    costs = [turn * (ratio - 1) for ratio in ratios]
    skipped = left_out(len(costs))
    interval = None if skipped is None else (costs[skipped], costs[-1 - skipped])
    value = turn * (math.exp(statistics.median(map(math.log, ratios))) - 1)
    return Penalty(len(costs), value, interval, costs[0], costs[-1])


def left_out(pairs: int) -> int | None:
    """How many pairs at each end the interval leaves out after so many pairs; None where there are too few for one."""
    return _boundaries()[pairs] if pairs <= MOST_PAIRS else _boundaries()[MOST_PAIRS]


def spent(pairs: int) -> float:
    """The chance that may be spent on all looks up to so many pairs: 1/32 at six, and towards ``CHANCE``."""
    return 0.0 if pairs < LEAST_PAIRS else CHANCE * (1 - 0.375 * LEAST_PAIRS / pairs)


@cache
def _boundaries() -> tuple[int | None, ...]:
    """By the number of pairs: the greatest k for which the chance that at any look so far at most k of the pairs lay on one side of
    the median is within what may be spent."""
    alive = {0: 1.0}
    gone = 0.0
    boundaries: list[int | None] = [None] * (MOST_PAIRS + 1)
    for pairs in range(1, MOST_PAIRS + 1):
        after: dict[int, float] = {}
        for above, chance in alive.items():
            for more in (0, 1):
                after[above + more] = after.get(above + more, 0.0) + chance / 2
        alive = after
        best: int | None = None
        for k in range((pairs - 1) // 2 + 1):
            crossing = sum(chance for above, chance in alive.items() if above <= k or above >= pairs - k)
            if gone + crossing > spent(pairs) + _EXACT:
                break
            best = k
        boundaries[pairs] = best
        if best is not None:
            gone += sum(chance for above, chance in alive.items() if above <= best or above >= pairs - best)
            alive = {above: chance for above, chance in alive.items() if best < above < pairs - best}
    return tuple(boundaries)
