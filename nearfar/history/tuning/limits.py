"""The limits of a pool: how far below the middle (of times above) a figure of a healthy host lies only as often as the budget of
false alarms allows; or why there are none. docs/method/limits.md says how they are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import statistics
from nearfar.verdict import disturbances
from nearfar.verdict.references import ReferenceRow, RowPlace

from . import groups, spread, tail
from .samples import SLACK, NodeFigure, Pool

#: A FAIL limit further from the value lets a fault pass that the kind of row is there for: a lost NVLink lane of 18 (5.6 %), one of
#: eight memory channels (12.5 %), transfers that take four times, one that takes sixteen times as long as others.
USEFUL = {"lone": 0.05, "windowed": 0.10, "stream": 0.11, "latency": 0.25, "percentile": 3.0, "worst": 11.0}
#: Beyond this part of the value something is certainly broken, however much healthy figures differ: half of a link among others.
BROKEN = {False: 0.4, True: 0.8}
#: The worst of many transfers over the median one: from the first on it is never as expected, below the second no fault by itself,
#: beyond the third certainly broken.
OUTLIER, LEAST_FAIL, BROKEN_WORST = 8.0, 12.0, 16.0
#: One in a hundred transfers that takes so many times as long as on healthy hosts is certainly broken.
BROKEN_PERCENTILE = 8.0
#: More bad hosts are no exception, but another population.
MOST_BAD = 0.3
#: At first figures beyond so many robust deviations are set aside; whether they stay so is decided by the limit of the others.
_FAR = 4.5
#: That decision changes the limit, which decides again, at most so often.
_ROUNDS = 8
#: What is known of such figures before any is measured counts for so many further degrees of freedom in a DEGRADED limit, which drains
#: nobody: else rows from few hosts would have none.
_TRUSTED = 6
#: Where a greater part of the single figures of healthy hosts lies beyond ``BROKEN``, that is a state of theirs, and means no fault.
_SELDOM = 0.01
#: So many times the way to the limit by the budget something is broken, where that limit itself lies too far away to mean a fault.
_CERTAIN = 2.0


@dataclass(frozen=True)
class Chances:
    """How often one figure of a healthy node may be FAIL, and at least DEGRADED, in a night."""

    fail: float
    degraded: float


@dataclass(frozen=True)
class TunedLimit:
    """``value`` is the middle of the hosts; beyond ``bound`` is FAIL, beyond ``degraded`` DEGRADED (None: the same), in the pool's
    unit. ``bound`` is None where healthy figures differ so much that even ``BROKEN`` is none.

    ``n`` counts hosts; ``spread`` is the standard deviation of the next figure as a part of ``value``, ``k`` how many of them
    beyond it the limit lies by the budget. ``provisional``: with more hosts it would come nearer. ``described``: no number of
    hosts would bring it so near that a fault is told from a bad day. ``aside`` names hosts with figures that lie outside.
    """

    value: float
    bound: float | None
    degraded: float | None
    k: float
    spread: float
    n: int
    unit: str
    provisional: bool = False
    described: bool = False
    aside: tuple[str, ...] = ()

    @property
    def as_expected(self) -> float | None:
        """The least good value that is neither FAIL nor DEGRADED."""
        return self.bound if self.degraded is None else self.degraded


@dataclass(frozen=True)
class Refusal:
    """Why a pool has no limit, in a sentence."""

    why: str


def limit(pool: Pool, chances: Chances) -> TunedLimit | Refusal:
    """The limits of a pool's hosts. The middle has four digits."""
    entered = sum(len(figure.values) for figure in pool.figures)
    if pool.unreliable > disturbances.MOST_UNRELIABLE * (entered + pool.unreliable):
        count = f"{pool.unreliable} of its {entered + pool.unreliable} figures"
        runs = "" if pool.disturbed is None else f" ({pool.disturbed})"
        if pool.beyond is not None:
            reason = f"cannot be ({pool.beyond}){f' or are unreliable{runs}' if runs else ''}"
            return Refusal(f"{count} {reason}; nobody knows what the others are worth")
        reason = "were disturbed, not verified, or had clocks held down"
        return Refusal(f"{count} {reason}{runs}; the others are the best of them")
    bad, why = groups.apart(pool, MOST_BAD)
    if why is not None:
        return Refusal(why)
    return _of(pool, _healthy(pool, bad, chances), chances)


def _healthy(pool: Pool, bad: frozenset[str], chances: Chances) -> list[NodeFigure]:
    """The figures that the limits are made from: those of no ``bad`` host that lie within the FAIL limit of the others. All of
    them where that would leave out more than a few hosts."""
    every = [figure for figure in pool.figures if figure.node not in bad]
    middle = statistics.median(figure.median for figure in every)
    slack, away = SLACK[pool.kind], {id(figure): abs(figure.median / middle - 1) for figure in every}
    robust = statistics.SIGMA_PER_MAD * statistics.median(away.values())
    assumed, n = spread.ASSUMED[pool.kind], len({figure.node for figure in every})
    joined = math.hypot(assumed * math.sqrt(spread.ASSUMED_WEIGHT / (spread.ASSUMED_WEIGHT + n)), robust)
    kept = [figure for figure in every if away[id(figure)] <= max(slack, _FAR * joined)]
    for _ in range(_ROUNDS):
        middle, spread_of_kept = _spread(pool, kept)
        most = max(slack, _factor(spread_of_kept, kept, chances.degraded, _TRUSTED) * spread_of_kept.deviation)
        again = [figure for figure in every if abs(figure.median / middle - 1) <= most]
        if again == kept:
            break
        kept = again
    left = {figure.node for figure in kept}
    lost = {figure.node for figure in pool.figures} - left
    return kept if len(lost) <= MOST_BAD * (len(left) + len(lost)) else list(pool.figures)


def _spread(pool: Pool, figures: Sequence[NodeFigure]) -> tuple[float, spread.Spread]:
    """The middle of the hosts, and the spread of their figures about it."""
    hosts: dict[str, list[float]] = {}
    for f in figures:
        hosts.setdefault(f.node, []).append(f.median)
    middle = statistics.median(statistics.median(own) for own in hosts.values())
    sign = 1 if pool.less_is_better else -1

    def worse(value: float) -> float:
        return sign * (value / middle - 1)

    return middle, spread.estimate(
        [spread.HostFigure(f.node, worse(f.median), [worse(value) for value in f.values], own(f, middle)) for f in figures],
        pool.kind,
    )  # fmt: skip


def own(figure: NodeFigure, middle: float) -> float | None:
    """The standard deviation that a figure's own intervals tell, as a part of ``middle``."""
    return statistics.median(figure.errors) / middle if figure.errors else None


def _factor(estimated: spread.Spread, figures: Sequence[NodeFigure], p: float, trusted: int = 0) -> float:
    n = len({figure.node for figure in figures})
    return tail.factor(p, estimated.freedom + trusted, estimated.skewness) * math.sqrt(1 + 1 / n)


def _of(pool: Pool, healthy: Sequence[NodeFigure], chances: Chances) -> TunedLimit:
    middle, estimated = _spread(pool, healthy)
    value = float(f"{middle:.4g}")
    sign, slack, n = (1 if pool.less_is_better else -1), SLACK[pool.kind], len({each.node for each in healthy})
    k = _factor(estimated, healthy, chances.fail)
    worst = max(sign * (each.median / value - 1) for each in healthy) + estimated.run
    part = max(slack, k * estimated.deviation, worst)
    inner = max(slack, _factor(estimated, healthy, chances.degraded, _TRUSTED) * estimated.deviation)
    if pool.kind == "worst":
        part, inner = max(part, LEAST_FAIL / value - 1), min(inner, max(0.0, OUTLIER / value - 1))
    settled = max(slack, tail.settled(chances.fail, estimated.least_skewness) * estimated.deviation, worst)
    described = settled > USEFUL[pool.kind]
    broken = _broken(pool, value)
    # What is certainly broken is FAIL even where healthy figures lie far apart; a figure that may be healthy is not.
    fail: float | None = min(broken, max(part, _CERTAIN * settled) if described else part)
    values = [sign * (each / value - 1) for figure in healthy for each in figure.values]
    two_states = sum(each > broken for each in values) > _SELDOM * len(values)
    if settled >= broken or two_states:
        fail, described = None, True
    outside = sorted({each.node for each in pool.figures if sign * (each.median / value - 1) > inner})
    return TunedLimit(
        value, None if fail is None else value * (1 + sign * fail), None if fail is None or inner >= fail else value * (1 + sign * inner),
        round(k, 2), estimated.deviation, n, pool.unit, part > USEFUL[pool.kind] and not described, described, tuple(outside),
    )  # fmt: skip


def _broken(pool: Pool, value: float) -> float:
    """How far from the value, as a part of it, something is certainly broken."""
    if pool.kind == "worst":
        return BROKEN_WORST / value - 1
    return BROKEN_PERCENTILE - 1 if pool.kind == "percentile" else BROKEN[pool.less_is_better]


def row(place: RowPlace, limit: TunedLimit, less_is_better: bool) -> ReferenceRow:
    """The row of a reference file, with what its provenance says of it."""
    bound = _part(limit.bound, limit.value, less_is_better)
    about: dict[str, Any] = {
        "n": limit.n,
        "k": limit.k,
        "spread": round(limit.spread, 5),
        "provisional": limit.provisional,
    }
    if limit.described:
        about["described"] = True
    if limit.degraded is not None:
        about["degraded"] = _part(limit.degraded, limit.value, less_is_better)
    lower, upper = (None, bound) if less_is_better else (bound, None)
    return ReferenceRow(*place, limit.value, lower, upper, limit.unit, about)


def _part(bound: float | None, value: float, less_is_better: bool) -> float | None:
    """A bound as a part of the value, never tighter for its rounding."""
    if bound is None:
        return None
    part = round(bound / value - 1, 9)
    if less_is_better:
        return max(0.0, math.ceil(part * 1e4) / 1e4)
    return max(-1.0, min(0.0, math.floor(part * 1e4) / 1e4))
