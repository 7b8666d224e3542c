"""The change of a figure from one side to the other, its interval, and which changes are more than chance. Pure.

A change is a ratio, so all is done on logarithms; the estimate and its test are in benchmarks/studies/compare.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.base import student
from nearfar.verdict import JudgedMetric

from . import spreads
from .sides import RunFigure, counted
from .spreads import LESS_IS_BETTER, WEIGHT, kind

#: The chance that anything at all is called significant where nothing changed.
BUDGET = 0.05
#: The chance that a figure's own interval misses its change.
_OUTSIDE = 0.05
#: An interval over visits is so many standard deviations wide to either side.
_PER_DEVIATION = 1.96
#: What never settled counts with so many runs on either side: they show its spread.
SETTLED_BY_RUNS = 3
#: Transfers of sizes that differ by more than this factor are no pair: a program fits the size of each run by itself.
OTHER_SIZE = 2


@dataclass(frozen=True)
class SideValue:
    """A figure on one side, in its unit: the geometric mean of the ``runs`` that were used (all of them, where none is without
    doubt); ``interval`` that of the only run, over its visits; ``left_out`` are runs that were not used; ``doubts`` what makes it
    no evidence, in words."""

    value: float
    interval: tuple[float, float] | None
    runs: int
    left_out: int
    doubts: tuple[str, ...]
    converged: bool


@dataclass(frozen=True)
class FigureChange:
    """One figure on both sides. ``nodes`` are the pairs of nodes (before, after) that it is of: one, or all that have it.

    ``change`` and ``interval`` (95 %, of this figure by itself) are parts: -0.02 is 2 % less. ``chance`` is that of a change so
    great where nothing changed. ``counted``: whether it is tested; ``doubts``: why a tested one can never be significant by itself.
    ``seen_from`` is the least change that would have been significant, as a part.
    """

    nodes: tuple[tuple[str, str], ...]
    check: str
    metric: JudgedMetric
    kind: str
    before: SideValue
    after: SideValue
    change: float
    interval: tuple[float, float]
    chance: float
    deviation: float
    freedom: float
    counted: bool
    doubts: tuple[str, ...]
    significant: bool = False
    seen_from: float | None = None

    @property
    def tested(self) -> bool:
        """Whether it takes part in the shared budget."""
        return self.counted and not self.doubts

    @property
    def less_is_better(self) -> bool:
        """Whether it is a time."""
        return self.metric.unit in LESS_IS_BETTER

    @property
    def worse(self) -> bool:
        """Whether it changed for the worse."""
        return self.change > 0 if self.less_is_better else self.change < 0

    @property
    def across(self) -> bool:
        """Whether it is of several nodes together."""
        return len(self.nodes) > 1


def of_figure(
    nodes: tuple[str, str], check: str, before: Sequence[RunFigure], after: Sequence[RunFigure]
) -> FigureChange:
    """The change of one figure of one node (or from one node to another)."""
    sides = [_used(before), _used(after)]
    if min(len(used) for used, _ in sides) < SETTLED_BY_RUNS:
        sides = [([figure for figure in used if figure.metric.converged] or used, doubts) for used, doubts in sides]
    values = [[_log(figure) for figure in used] for used, _ in sides]
    shown = [_side(used, len(all_of_them), doubts) for (used, doubts), all_of_them in zip(sides, (before, after))]
    metric = after[-1].metric
    assumed = _mean([spreads.assumed(f.metric) ** 2 + _within(f) ** 2 for used, _ in sides for f in used])
    own = sum((value - _mean(side)) ** 2 for side in values for value in side)
    runs = len(values[0]) + len(values[1])
    freedom = WEIGHT + runs - 2
    variance = (WEIGHT * assumed + own) / freedom
    deviation = math.sqrt(variance * (1 / len(values[0]) + 1 / len(values[1])))
    doubts = list(dict.fromkeys(doubt for _, doubts_of_side in sides for doubt in doubts_of_side))
    if not all(side.converged for side in shown) and min(side.runs for side in shown) < SETTLED_BY_RUNS:
        doubts.append("not converged")
    sizes = [figure.metric.bytes for used, _ in sides for figure in used if figure.metric.bytes]
    if sizes and max(sizes) > OTHER_SIZE * min(sizes):
        doubts.append("sizes differ")
    logarithm = _mean(values[1]) - _mean(values[0])
    return _change((nodes,), check, metric, shown[0], shown[1], logarithm, deviation, freedom, tuple(doubts))


def across_nodes(changes: Sequence[FigureChange]) -> FigureChange:
    """The mean change of one figure over the nodes that have it; its spread is that between the nodes, joined with the one that each
    node's runs lead to expect."""
    logarithms = [math.log1p(change.change) for change in changes]
    middle, first = _mean(logarithms), changes[0]
    expected = _mean([change.deviation**2 for change in changes])
    freedom = WEIGHT + len(changes) - 1
    variance = (WEIGHT * expected + sum((value - middle) ** 2 for value in logarithms)) / freedom
    before, after = (_over([getattr(change, side) for change in changes]) for side in ("before", "after"))
    return _change(
        tuple(pair for change in changes for pair in change.nodes), first.check, first.metric, before, after, middle,
        math.sqrt(variance / len(changes)), freedom, (),
    )  # fmt: skip


def decided(changes: Sequence[FigureChange]) -> list[FigureChange]:
    """The same changes, with those marked that are significant: Holm's procedure over all that are tested."""
    order = sorted((i for i, change in enumerate(changes) if change.tested), key=lambda i: changes[i].chance)
    judged = list(changes)
    holds = True
    for rank, position in enumerate(order):
        change = changes[position]
        holds = holds and change.chance <= BUDGET / (len(order) - rank)
        least = math.expm1(student.quantile(BUDGET / len(order), change.freedom) * change.deviation)
        judged[position] = replace(change, significant=holds, seen_from=least)
    return judged


def _used(figures: Sequence[RunFigure]) -> tuple[list[RunFigure], tuple[str, ...]]:
    """The figures that are without doubt; all, with their doubts, where none is."""
    good = [figure for figure in figures if not figure.doubts]
    if good:
        return good, ()
    return list(figures), tuple(dict.fromkeys(doubt for figure in figures for doubt in figure.doubts))


def _side(used: Sequence[RunFigure], runs: int, doubts: tuple[str, ...]) -> SideValue:
    interval = used[0].metric.interval if len(used) == 1 else None
    converged = all(figure.metric.converged for figure in used)
    mean = math.exp(_mean([_log(figure) for figure in used])) if len(used) > 1 else used[0].metric.value or math.nan
    return SideValue(mean, interval, len(used), runs - len(used), doubts, converged)


def _over(sides: Sequence[SideValue]) -> SideValue:
    value = math.exp(_mean([math.log(side.value) for side in sides]))
    return SideValue(value, None, sum(s.runs for s in sides), sum(s.left_out for s in sides), (), True)


def _change(
    nodes: tuple[tuple[str, str], ...], check: str, metric: JudgedMetric, before: SideValue, after: SideValue,
    logarithm: float, deviation: float, freedom: float, doubts: tuple[str, ...],
) -> FigureChange:  # fmt: skip
    reach = student.quantile(_OUTSIDE, freedom) * deviation
    return FigureChange(
        nodes, check, metric, kind(metric), before, after, math.expm1(logarithm),
        (math.expm1(logarithm - reach), math.expm1(logarithm + reach)), student.two_sided(logarithm / deviation, freedom),
        deviation, freedom, counted(metric), doubts,
    )  # fmt: skip


def _log(figure: RunFigure) -> float:
    return math.log(figure.metric.value or math.nan)


def _within(figure: RunFigure) -> float:
    """The standard deviation that the interval over visits says, as a part of the figure."""
    return (spreads.half_width(figure.metric) or 0.0) / _PER_DEVIATION


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
