"""The prediction bound of a row from few nodes: what the next figure of a healthy node lies beyond only as often as the budget
of false alarms allows (docs/method/few-nodes.md). Spreads, slacks and bounds are parts of the row's value."""

from __future__ import annotations

import math

#: The budget: one false FAIL in so many node-nights, over all of a node's figures together.
NODE_NIGHTS = 1000
#: How many figures of a node share the budget where the file does not say.
ASSUMED_FIGURES = 100
#: By a row's slack: the standard deviation of healthy figures from machine to machine, before any of them is measured.
ASSUMED_SPREAD = {0.02: 0.02, 0.05: 0.03, 0.10: 0.05}
#: The assumed spread weighs as much as that of so many further nodes.
ASSUMED_WEIGHT = 8
#: The widest bound: half of the value; twice of a time.
WIDEST = {False: 0.5, True: 1.0}


def chance(figures: int) -> float:
    """How often one of ``figures`` figures of a healthy node may be beyond its bound in a night."""
    return 1 / (NODE_NIGHTS * max(1, figures))


def factor(n: int, p: float) -> float:
    """How many standard deviations beyond the median of ``n`` nodes the next figure lies with probability ``p``.

    By the tail of an exponential, as a ceiling leaves it to one side: beyond its median by x deviations lies exp(-x) / 2.
    """
    return max(0.0, -math.log(2 * p)) * math.sqrt(1 + 1 / n)


def assumed_spread(slack: float) -> float:
    """The spread from machine to machine of rows with this slack, or the next smaller one that is known."""
    known = [each for each in ASSUMED_SPREAD if each <= slack + 1e-9]
    return ASSUMED_SPREAD[max(known, default=min(ASSUMED_SPREAD))]


def spread(slack: float, n: int, between: float, within: float) -> float:
    """The standard deviation of the next figure: ``between`` is that of ``n`` nodes, joined with the assumed one by their
    weights; ``within`` that of one node's figures."""
    assumed = ASSUMED_WEIGHT * assumed_spread(slack) ** 2
    joined = (assumed + (n - 1) * between**2) / (ASSUMED_WEIGHT + n - 1)
    return math.sqrt(joined + within**2)


def part(slack: float, n: int, p: float, deviation: float, less_is_better: bool) -> float:
    """How far from the value the bound lies: never nearer than the slack, nor beyond the widest."""
    return max(slack, min(WIDEST[less_is_better], factor(n, p) * deviation))
