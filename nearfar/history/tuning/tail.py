"""How many standard deviations below its middle the next figure lies with a small probability: quantiles for few degrees of
freedom and for distributions with a ceiling (docs/method/limits.md)."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

#: Student's t differs from the normal distribution by less than 2 % beyond.
_MANY = 400


def factor(p: float, freedom: float, skewness: float) -> float:
    """Deviations beyond the mean that a figure exceeds with probability ``p`` (below 0.5), where the deviation is an estimate of
    ``freedom`` degrees of freedom (1 at least) and the tail on that side has ``skewness`` (0: normal, 2: exponential)."""
    normal = -NormalDist().inv_cdf(p)
    return pearson(normal, skewness) * student(max(1, int(freedom)), p) / normal


def settled(p: float, skewness: float) -> float:
    """The same where the deviation is known."""
    return pearson(-NormalDist().inv_cdf(p), skewness)


def pearson(normal: float, skewness: float) -> float:
    """The quantile of Pearson's distribution of type III (mean 0, deviation 1) that stands at the ``normal`` distribution's, by Wilson
    and Hilferty's approximation."""
    if skewness < 1e-6:
        return normal
    sixth = skewness / 6
    return (max(0.0, 1 + sixth * (normal - sixth)) ** 3 - 1) * 2 / skewness


@cache
def student(freedom: int, p: float) -> float:
    """What Student's t with so many degrees of freedom exceeds with probability ``p``; the normal quantile for many."""
    if freedom >= _MANY:
        return -NormalDist().inv_cdf(p)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _beyond(angle, freedom) > p else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _beyond(angle: float, freedom: int) -> float:
    """P(t > sqrt(freedom)·tan(angle)), by the finite series in the angle."""
    sine, squared = math.sin(angle), math.cos(angle) ** 2
    if freedom % 2:
        term, total = sine * math.cos(angle), 0.0
        for k in range(1, (freedom - 1) // 2 + 1):
            total, term = total + term, term * squared * 2 * k / (2 * k + 1)
        return 0.5 - (angle + total) / math.pi
    term, total = sine, 0.0
    for k in range(freedom // 2):
        total, term = total + term, term * squared * (2 * k + 1) / (2 * k + 2)
    return max(0.0, (1 - total) / 2)
