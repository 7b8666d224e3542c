"""The budget of false alarms: what healthy nodes may cost, shared over a node's figures, and what the limits say of today's nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nearfar.verdict import thresholds

from .limits import Chances, TunedLimit
from .samples import Pool


@dataclass(frozen=True)
class Budget:
    """``figures`` of a node share it. ``outside`` of ``judged`` figures that were measured lie outside of the new limits; ``slow`` has
    the nodes with a figure whose middle does, and for how many limits."""

    nodes: int
    figures: int
    outside: int
    judged: int
    slow: Mapping[str, int]


def chances(figures: int) -> Chances:
    """What the budget leaves one of ``figures`` figures: a sum of chances bounds that of any, however they hang together."""
    share = 1 / (thresholds.NODE_NIGHTS * max(1, figures))
    return Chances(thresholds.FAILS * share, thresholds.DEGRADEDS * share)


def figures_of_a_node(pools: Iterable[Pool]) -> int:
    """How many figures the node with the most has."""
    metrics = Counter(node for pool in pools for node, _ in {(figure.node, figure.metric) for figure in pool.figures})
    return max(metrics.values(), default=0)


def budget(limits: Mapping[Pool, TunedLimit], figures: int) -> Budget:
    """The budget of these limits."""
    slow: Counter[str] = Counter()
    outside = judged = 0
    for pool, limit in limits.items():
        slow.update(limit.aside)
        end, sign = limit.as_expected, -1 if pool.less_is_better else 1
        for figure in pool.figures:
            judged += len(figure.values)
            outside += 0 if end is None else sum(sign * value < sign * end for value in figure.values)
    return Budget(len({figure.node for pool in limits for figure in pool.figures}), figures, outside, judged, slow)
