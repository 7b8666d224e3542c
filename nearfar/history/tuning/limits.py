"""The limit of a pool: the lower of median × (1 − slack) and a one-sided tolerance limit, mirrored for times; from few nodes the
prediction bound, and the slack beside it; or why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from nearfar.base import statistics
from nearfar.verdict.references import ReferenceRow, RowPlace, figure, prediction_bound

from . import modes, tolerance
from .samples import SLACK, Pool

#: A lone cell's limit below this part of its median would let a lost NVLink lane pass.
LEAST_LONE = 0.95
#: Where a greater part of the figures was left out because measuring went wrong, the rest are the best of them.
MOST_UNRELIABLE = 0.2
#: Values that differ by more than this factor are not of one kind.
APART = 2.0
#: With fewer nodes a limit is provisional.
SETTLED = 30


@dataclass(frozen=True)
class TunedLimit:
    """``bound`` is the least good value (for times the greatest), ``value`` the median, both in the pool's unit.

    ``method`` is ``order statistic`` (``k`` is its rank), ``parametric`` (``k`` its factor) or, from few nodes,
    ``prediction bound`` (``k`` its factor): beyond that is FAIL, and beyond ``degraded``, the slack, DEGRADED.
    """

    value: float
    bound: float
    method: str
    k: float | None
    n: int
    unit: str
    degraded: float | None = None

    @property
    def as_expected(self) -> float:
        """The least good value that is neither FAIL nor DEGRADED."""
        return self.bound if self.degraded is None else self.degraded

    @property
    def provisional(self) -> bool:
        """Whether more nodes are needed before it is settled."""
        return self.n < SETTLED


@dataclass(frozen=True)
class Refusal:
    """Why a pool has no limit, in a sentence."""

    why: str


def limit(pool: Pool, coverage: float, confidence: float, chance: float) -> TunedLimit | Refusal:
    """The limit of a pool's nodes; ``n`` counts nodes, whatever their GPUs and runs. The median has four digits.

    ``coverage`` and ``confidence`` are those of a tolerance limit, ``chance`` that of a false FAIL beyond a prediction bound.
    """
    entered = sum(len(each.values) for each in pool.figures)
    if pool.beyond is not None and pool.unreliable > MOST_UNRELIABLE * (entered + pool.unreliable):
        count = f"{pool.unreliable} of its {entered + pool.unreliable} figures"
        return Refusal(f"{count} are unreliable or cannot be ({pool.beyond}); nobody knows what the others are worth")
    if pool.unreliable > MOST_UNRELIABLE * (entered + pool.unreliable):
        words = "did not converge, were not verified, or had clocks held down"
        return Refusal(
            f"{pool.unreliable} of its {entered + pool.unreliable} figures {words}; the others are the best of them"
        )
    split = torn(pool) or two_groups(pool)
    if split is not None:
        return Refusal(split)
    nodes = list(pool.nodes.values())
    middle, n = float(f"{statistics.median(nodes):.4g}"), len(nodes)
    if n < SETTLED:
        return _of_few(pool, middle, chance)
    tolerated, method, k = _tolerated(nodes, coverage, confidence, pool.less_is_better)
    slack = SLACK[pool.kind]
    bound = max(middle * (1 + slack), tolerated) if pool.less_is_better else min(middle * (1 - slack), tolerated)
    if bound <= 0:
        return Refusal(f"its limit would be {figure(bound, pool.unit)}: {n} nodes that differ so much have none")
    if pool.kind == "lone" and bound < LEAST_LONE * middle:
        words = f"its limit would be {figure(bound, pool.unit)}, below {LEAST_LONE:g} of the median {figure(middle, pool.unit)}"
        return Refusal(f"{words}: {n} nodes are too few, or differ too much")
    return TunedLimit(middle, bound, method, k, n, pool.unit)


def _of_few(pool: Pool, middle: float, chance: float) -> TunedLimit:
    """The two bounds of a pool of few nodes. What one node's figures differ by is seen without their worst."""
    nodes, slack, above = pool.nodes, SLACK[pool.kind], pool.less_is_better
    n, sign = len(nodes), 1 if pool.less_is_better else -1
    within = statistics.spread(value / nodes[each.node] for each in pool.figures for value in each.values)
    between = stdev(nodes.values()) / middle if n > 1 else 0.0
    spread = prediction_bound.spread(slack, n, between, within)
    part = prediction_bound.part(slack, n, chance, spread, above)
    k = round(prediction_bound.factor(n, chance), 2)
    bound, degraded = (middle * (1 + sign * away) for away in (part, slack))
    return TunedLimit(middle, bound, "prediction bound", k, n, pool.unit, degraded)


def _tolerated(
    nodes: Sequence[float], coverage: float, confidence: float, above: bool
) -> tuple[float, str, float | None]:
    """The tolerance limit, how, and its k."""
    n, middle = len(nodes), statistics.median(nodes)
    if n >= tolerance.least_for_rank(coverage, confidence):
        r = tolerance.rank(n, coverage, confidence)
        return sorted(nodes, reverse=above)[r - 1], "order statistic", r
    k = tolerance.factor(n, coverage, confidence)
    away = k * statistics.spread(nodes)
    return middle + away if above else middle - away, "parametric", k


def torn(pool: Pool) -> str | None:
    """That a median would lie between values that have nothing to do with each other, which are named; None where none does.

    Of few nodes, for which ``two_groups`` is no statistic, none may be ``APART`` from another: nobody knows which is right.
    """
    nodes = pool.nodes
    low, high = min(nodes.values()), max(nodes.values())
    if len(nodes) < modes.LEAST and high > APART * low:
        parted = (low * high) ** 0.5
        groups = []
        for own in ({n: v for n, v in nodes.items() if v < parted}, {n: v for n, v in nodes.items() if v >= parted}):
            groups.append(f"{_listed(sorted(own))} at {_amount(statistics.median(own.values()), pool.unit)}")
        return f"two groups of nodes: {'; '.join(groups)}"
    for node in nodes:
        own_values = sorted(value for each in pool.figures if each.node == node for value in each.values)
        below, above = own_values[(len(own_values) - 1) // 2], own_values[len(own_values) // 2]
        if above > APART * below:
            ends = f"{_amount(below, pool.unit)} and {_amount(above, pool.unit)}"
            return f"two groups of figures: half of those of {node} lie below, half above {ends}"
    return None


def two_groups(pool: Pool) -> str | None:
    """That a pool's figures are of two groups, which are named; None where they look like one.

    The nodes among themselves, then the figures of each beside its node's median: GPUs of one class may differ by their
    slot. A gap within half of the slack is of no matter.
    """
    nodes = pool.nodes
    middle = statistics.median(nodes.values())
    among = [((node, ""), value) for node, value in nodes.items()]
    within = [((each.node, each.metric), each.median / nodes[each.node] * middle) for each in pool.figures]
    return _two_groups("nodes", among, pool) or _two_groups("figures", within, pool)


def _two_groups(what: str, named: Sequence[tuple[tuple[str, str], float]], pool: Pool) -> str | None:
    values = [value for _, value in named]
    found = modes.split(values)
    if found is None or found.ratio <= tolerance.critical_gap(len(values)):
        return None
    if found.gap < SLACK[pool.kind] / 2 * statistics.median(values):
        return None
    groups = []
    for positions, others in ((found.low, found.high), (found.high, found.low)):
        middle = _amount(statistics.median(values[i] for i in positions), pool.unit)
        names = _named([named[i][0] for i in positions], [named[i][0] for i in others])
        groups.append(f"{names} at {middle}")
    return f"two groups of {what}: {'; '.join(groups)}"


def _amount(value: float, unit: str) -> str:
    return f"{figure(value, unit)}{'' if unit == '1' else f' {unit}'}"


def _named(group: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> str:
    """A group by what it alone has: its nodes, else its metrics, else both."""
    for part in (0, 1):
        own = list(dict.fromkeys(names[part] for names in group))
        if not set(own) & {names[part] for names in others}:
            return _listed(own)
    return _listed([" ".join(names) for names in group])


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(words[:4])
    return f"{shown} and {len(words) - 4} more" if len(words) > 4 else shown


def row(place: RowPlace, found: TunedLimit, less_is_better: bool) -> ReferenceRow:
    """The row of a reference file, with what its provenance says of it."""
    bound = _part(found.bound, found.value, less_is_better)
    about: dict[str, Any] = {"n": found.n, "method": found.method}
    about |= {} if found.k is None else {"k": found.k}
    about |= {"provisional": found.provisional}
    if found.degraded is not None:
        about["degraded"] = _part(found.degraded, found.value, less_is_better)
    lower, upper = (None, bound) if less_is_better else (bound, None)
    return ReferenceRow(*place, found.value, lower, upper, found.unit, about)


def _part(bound: float, value: float, less_is_better: bool) -> float:
    """A bound as a part of the value, never tighter for its rounding."""
    part = round(bound / value - 1, 9)
    if less_is_better:
        return max(0.0, math.ceil(part * 1e4) / 1e4)
    return max(-1.0, min(0.0, math.floor(part * 1e4) / 1e4))
