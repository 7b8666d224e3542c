"""The alarm budget: how many false alarms a night the limits cost, by their coverage and as measured."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .limits import TunedLimit
from .samples import Pool

#: The part of all figures that counts as low where one asks whether they are low again.
_LOWEST = 0.05
#: With fewer low figures that were measured again nothing is said.
_LEAST_AGAIN = 10


@dataclass(frozen=True)
class Budget:
    """``figures`` is how many of a node's figures a limit judges, ``draining`` how many of them may drain it; ``provisional``
    how many of those that count (which may drain; of all, where none may) have a prediction bound. ``alarms`` are the expected
    false ones of these in a run of all nodes: 1 - ``coverage`` of each figure, of provisional ones ``chance``.

    ``again`` is the measured chance that a low figure is low the next time too, from ``lows`` of them (None: too few).
    ``outside`` of ``judged`` figures that entered lie outside of the new limits, ``slow`` has the nodes whose median does and
    for how many limits.
    """

    nodes: int
    figures: int
    draining: int
    provisional: int
    coverage: float
    chance: float
    again: float | None
    lows: int
    outside: int
    judged: int
    slow: Mapping[str, int]

    @property
    def alarms(self) -> float:
        """Expected in one run of all nodes, if the limits cover what they are meant to."""
        return self.nodes * (self.settled * (1 - self.coverage) + self.provisional * self.chance)

    @property
    def settled(self) -> int:
        """How many of the figures that count have a limit from many nodes."""
        return (self.draining or self.figures) - self.provisional

    @property
    def confirmed(self) -> float | None:
        """Those that a confirming run does not clear."""
        return None if self.again is None else self.alarms * self.again


def figures_of_a_node(pools: Iterable[Pool]) -> int:
    """How many figures the node with the most has."""
    return max(Counter(figure.node for pool in pools for figure in pool.figures).values(), default=0)


def budget(
    limits: Mapping[Pool, TunedLimit], coverage: float, chance: float, may_drain: Callable[[str], bool]
) -> Budget:
    """The budget of these limits; ``may_drain`` says of a check whether a slow figure of it may drain its node."""
    nodes = {figure.node for pool in limits for figure in pool.figures}
    draining = [pool for pool in limits if may_drain(pool.check)]
    provisional = [pool for pool in draining or limits if limits[pool].provisional]
    slow: dict[str, int] = {}
    outside = judged = lows = again = 0
    for pool, limit in limits.items():
        sign = -1 if pool.less_is_better else 1
        for node, middle in pool.nodes.items():
            if sign * middle < sign * limit.as_expected:
                slow[node] = slow.get(node, 0) + 1
        for figure in pool.figures:
            judged += len(figure.values)
            outside += sum(sign * value < sign * limit.as_expected for value in figure.values)
        more, of_them = _again([[sign * value for value in figure.values] for figure in pool.figures])
        lows, again = lows + more, again + of_them
    again_part = again / lows if lows >= _LEAST_AGAIN else None
    counts = [figures_of_a_node(each) for each in (limits, draining, provisional)]
    return Budget(
        len(nodes), counts[0], counts[1], counts[2], coverage, chance, again_part, lows, outside, judged, slow
    )


def _again(figures: Sequence[Sequence[float]]) -> tuple[int, int]:
    """How many of the lowest figures of a pool were measured a next time, and how many of those were low again."""
    ordered = sorted(value for values in figures for value in values)
    if not ordered:
        return 0, 0
    low = ordered[int(_LOWEST * len(ordered))]
    pairs = [(a, b) for values in figures for a, b in itertools.pairwise(values) if a < low]
    return len(pairs), sum(b < low for _, b in pairs)
