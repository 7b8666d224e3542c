"""The limits of a pool: how far below the middle (of times above) a healthy host's next figure lies only as often as the budget of
false alarms allows, which a node's figures share; or why there are none. benchmarks/studies/limits.md says what each term buys."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from nearfar.base import listed, statistics, student
from nearfar.verdict import thresholds
from nearfar.verdict.references import ReferenceRow, RowPlace, with_unit

from .samples import Pool


@dataclass(frozen=True)
class TunedLimit:
    """A reference value with its bounds, in the pool's unit."""

    #: The median of the hosts.
    value: float
    #: Beyond it is FAIL; None where healthy runs reach what would certainly be broken.
    bound: float | None
    #: Beyond it is DEGRADED; None: there is no room before ``bound``.
    degraded: float | None
    #: Standard deviation of the next figure, as a part of ``value``.
    spread: float
    #: Hosts.
    n: int
    unit: str
    #: Hosts with figures whose median is beyond either bound.
    aside: tuple[str, ...] = ()


def figures_of_a_node(pools: Iterable[Pool]) -> int:
    """How many figures the node with the most has."""
    metrics = Counter(node for pool in pools for node, _ in {(figure.node, figure.metric) for figure in pool.figures})
    return max(metrics.values(), default=0)


def limit(pool: Pool, figures: int) -> TunedLimit | str:
    """The limits of a pool's hosts, one of ``figures`` of a node, or why there are none, in a sentence. The middle has four digits."""
    if doubt := _too_many_unreliable(pool):
        return doubt
    hosts, kind, sign = pool.nodes, pool.kind, 1 if pool.less_is_better else -1
    value, n = float(f"{statistics.median(hosts.values()):.4g}"), len(hosts)
    deviation = _deviation(pool, value, n)
    # A sum of chances bounds that of any figure, however they hang together.
    share = 1 / (thresholds.NODE_NIGHTS * max(1, figures))
    chances = (2 * count * share for count in (thresholds.FAILS, thresholds.DEGRADEDS))
    quantiles = (student.quantile(chance, thresholds.TAIL_FREEDOM) for chance in chances)
    fail, degraded = (quantile * math.sqrt(1 + 1 / n) * deviation for quantile in quantiles)
    degraded = max(thresholds.DEGRADED_FLOOR[kind], degraded)
    most = thresholds.WORST_FAIL[1] / value - 1 if kind == "worst" else thresholds.CERTAINLY_BROKEN[kind]
    if kind == "worst":
        fail = max(fail, thresholds.WORST_FAIL[0] / value - 1)
        degraded = min(degraded, max(0.0, thresholds.WORST_DEGRADED / value - 1))
    fail = min(most, max(thresholds.FAIL_FLOOR[kind], fail))
    better = [host for host, middle in hosts.items() if -sign * (middle / value - 1) > fail]
    if most > 0 and len(better) > thresholds.MOST_BETTER * n:
        # Nobody knows which are right.
        groups = better, [host for host in hosts if host not in better]
        levels = (with_unit(statistics.median(hosts[host] for host in group), pool.unit) for group in groups)
        named = (f"{listed(group, 4)} at {level}" for group, level in zip(groups, levels))
        return f"two groups of nodes: {'; '.join(named)}"
    runs = [sign * (run / value - 1) for figure in pool.figures for run in figure.values]
    # Healthy runs that reach what would certainly be broken are a state of theirs, no fault.
    if sum(part > most for part in runs) > thresholds.SELDOM * len(runs):
        return TunedLimit(value, None, None, deviation, n, pool.unit)
    outside = [f for f in pool.figures if sign * (f.median / value - 1) > min(fail, degraded)]
    aside = {f.node for f in outside}
    if n > 2 and kind not in ("worst", "percentile") and 2 * len(aside) > n:
        which = listed(sorted({f.metric for f in outside}), 4)
        at = with_unit(statistics.median(f.median for f in outside), pool.unit)
        return f"two groups of figures: {which} at {at} on {len(aside)} of {n} nodes, the remaining ones at {value:g}"
    inner = None if degraded >= fail else value * (1 + sign * degraded)
    return TunedLimit(value, value * (1 + sign * fail), inner, deviation, n, pool.unit, tuple(sorted(aside)))


def _too_many_unreliable(pool: Pool) -> str:
    """That so many figures were left out that the rest are the best of them; empty where they were not."""
    every = sum(len(figure.values) for figure in pool.figures) + pool.unreliable
    if pool.unreliable <= thresholds.MOST_UNRELIABLE * every:
        return ""
    count, runs = f"{pool.unreliable} of its {every} figures", "" if pool.disturbed is None else f" ({pool.disturbed})"
    if pool.beyond is None:
        reason = f"were disturbed, not verified, or had clocks held down{runs}"
        return f"{count} {reason}; the remaining ones are the best of them"
    unreliable = f" or are unreliable{runs}" if runs else ""
    return f"{count} cannot be ({pool.beyond}){unreliable}; what the other nodes should reach is unknown"


def _deviation(pool: Pool, value: float, n: int) -> float:
    """Standard deviation of the next figure, as a part of ``value``: of hosts and their boards, held to what is known of such figures
    anywhere, and of runs, of which the middle of three counts. Medians alone: no few runs or hosts move it."""
    among = statistics.SIGMA_PER_MAD * statistics.median(abs(figure.median / value - 1) for figure in pool.figures)
    weight = thresholds.SPREAD_WEIGHT
    known = thresholds.SPREAD[pool.kind] if pool.spread is None else pool.spread
    hosts = (weight * known**2 + (n - 1) * among**2) / (weight + n - 1)
    some = (figure.values[:: len(figure.values) // 8 + 1] for figure in pool.figures)
    moved = [abs(first - second) / value for runs in some for first, second in combinations(runs, 2)]
    runs = statistics.SIGMA_PER_MAD / math.sqrt(2) * statistics.median(moved or [0.0])
    if len(moved) < thresholds.LEAST_PAIRS:
        runs = max(runs, statistics.median([error / value for f in pool.figures for error in f.errors] or [0.0]))
    else:
        runs *= thresholds.MIDDLE_OF_THREE
    return math.hypot(math.sqrt(hosts), runs)


def row(place: RowPlace, limit: TunedLimit, less_is_better: bool) -> ReferenceRow:
    """The row of a reference file, with what its provenance says of it."""

    def part(bound: float | None) -> float | None:
        """A bound as a part of the value, never tighter for its rounding."""
        outwards = math.ceil if less_is_better else math.floor
        return None if bound is None else outwards(1e4 * round(bound / limit.value - 1, 9)) / 1e4

    degraded = {} if limit.degraded is None else {"degraded": part(limit.degraded)}
    about = {"n": limit.n, "spread": round(limit.spread, 5), **degraded}
    lower, upper = (None, part(limit.bound)) if less_is_better else (part(limit.bound), None)
    return ReferenceRow(*place, limit.value, lower, upper, limit.unit, about)
