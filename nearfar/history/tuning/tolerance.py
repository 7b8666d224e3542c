"""Tolerance limits: what a given part of all nodes lies above, with a given confidence, from n of them.

Two ways. With many nodes the r-th smallest, whatever the distribution (``rank``). With fewer, median − k·1.4826·MAD with k for
median and MAD, not for mean and standard deviation, which holds for normal data (``factor``); k by simulation,
``benchmarks/tolerance_factors.py``.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

from nearfar.base import NearfarError, statistics

TABLE = Path(__file__).with_name("tolerance_factors.json")
#: Fewer nodes have no spread to speak of: k would be above ten.
LEAST_NODES = 5
#: Draws of a simulation for a coverage and confidence that the table does not hold.
_DRAWS = 20_000


def least_for_rank(coverage: float, confidence: float) -> int:
    """From how many nodes on the distribution-free limit exists: 299 for 0.99 and 0.95."""
    return math.ceil(math.log(1 - confidence) / math.log(coverage))


def rank(n: int, coverage: float, confidence: float) -> int:
    """The r for which the r-th smallest of ``n`` is a lower tolerance limit; 0 where there are too few.

    The largest r with P(X >= r) >= confidence, X binomial of n and 1 - coverage: so many lie below the quantile.
    """
    below, r = 0.0, 0
    # P(X <= r - 1) has to stay within 1 - confidence.
    while r <= n:
        below += math.exp(_log_binomial(n, r, 1 - coverage))
        if below > 1 - confidence:
            return r
        r += 1
    return n


def _log_binomial(n: int, k: int, p: float) -> float:
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + k * math.log(p) + (n - k) * math.log1p(-p)


def check(coverage: float, confidence: float) -> None:
    """Refuse what is no coverage or confidence. Raises ``NearfarError``."""
    for name, value in (("coverage", coverage), ("confidence", confidence)):
        if not 0.5 <= value <= 0.9999:
            raise NearfarError(f"--{name} {value:g}: expected a part between 0.5 and 0.9999, such as 0.99")


def factor(n: int, coverage: float, confidence: float) -> float:
    """k of median − k·1.4826·MAD for ``n`` nodes (at least ``LEAST_NODES``); that of the next smaller n in the table."""
    table = _table()
    known = max(size for size in table["n"] if size <= n)
    held = table["k"].get(f"{coverage:g}/{confidence:g}")
    return float(held[table["n"].index(known)]) if held else _simulated(known, coverage, confidence)


def critical_gap(n: int) -> float:
    """The ratio of ``modes.split`` that one group of ``n`` exceeds five times in a thousand."""
    table = _table()
    sizes = table["gap"]["n"]
    known = max((size for size in sizes if size <= n), default=sizes[0])
    return float(table["gap"]["ratio"][sizes.index(known)])


@cache
def _table() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return loaded


@cache
def _simulated(n: int, coverage: float, confidence: float) -> float:
    found = simulate(n, [coverage], _DRAWS, random.Random(n))[0]
    return found[min(len(found) - 1, math.ceil(confidence * len(found)))]


def simulate(n: int, coverages: Sequence[float], draws: int, source: random.Random) -> list[list[float]]:
    """For each coverage, sorted: the least k with which median − k·1.4826·MAD of ``n`` normal values has that part of the
    distribution above it, in each of ``draws`` draws. Their quantile at the confidence is the factor."""
    quantiles = [NormalDist().inv_cdf(1 - coverage) for coverage in coverages]
    found: list[list[float]] = [[] for _ in coverages]
    for _ in range(draws):
        values = [source.gauss(0, 1) for _ in range(n)]
        middle, spread = statistics.median(values), statistics.spread(values)
        for quantile, ratios in zip(quantiles, found):
            ratios.append((middle - quantile) / spread)
    return [sorted(ratios) for ratios in found]
