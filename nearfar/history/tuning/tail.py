"""How many standard deviations below its middle the next figure lies with a small probability: quantiles for few degrees of
freedom and for distributions with a ceiling (docs/method/limits.md)."""

from __future__ import annotations

from statistics import NormalDist

from nearfar.base import student as students_t

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


def student(freedom: int, p: float) -> float:
    """What Student's t with so many degrees of freedom exceeds with probability ``p``; the normal quantile for many."""
    return -NormalDist().inv_cdf(p) if freedom >= _MANY else students_t.quantile(2 * p, freedom)
