"""Student's t: the chance of a value so far out, and the value beyond which a chance lies."""

from __future__ import annotations

import math
from functools import lru_cache

#: The continued fraction ends when a step changes it by less.
_EXACT = 1e-12
_STEPS = 300
#: No quantile that is asked for lies beyond it.
_FARTHEST = 1e9


def two_sided(t: float, freedom: float) -> float:
    """The chance that Student's t with ``freedom`` degrees of freedom is as far from 0 as ``t``, to either side."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=1024)
def quantile(chance: float, freedom: float) -> float:
    """The value that Student's t is beyond, to either side, with ``chance`` (above 0, below 1)."""
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > chance and high < _FARTHEST:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > chance else (low, middle)
    return high


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(b, a, 1 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + step * d, 1 + step / c
            d, c = 1 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            value *= d * c
        if abs(d * c - 1) < _EXACT:
            break
    return value
