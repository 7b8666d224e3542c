#!/usr/bin/env python3
"""How often a healthy node falls beyond the prediction bound of a row from few nodes, by simulation with a fixed seed.

A row is tuned from n machines of a fleet, another machine of that fleet is measured, and its chance of a FAIL is taken from the
fleet's own distribution, so that rare events need no rare draws. Fleets differ in shape (how far machines lie below a ceiling, or
about a middle) and in their spread beside the assumed one. Printed: false FAILs in 1,000 node-nights of one budget.

    benchmarks/prediction_bounds.py                    all tables, 15 s of one core
    benchmarks/prediction_bounds.py --seed 2 --figures 100 --slack 0.05
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable
from statistics import NormalDist

from nearfar.verdict.references import prediction_bound

SIZES = (1, 2, 3, 5, 10, 20, 29)
SPREADS = (0.25, 0.5, 1.0, 1.5, 2.0)
#: Machines in standard deviations about their mean; and the part of them that lies below so many.
Draw = Callable[[random.Random], float]
SHAPES: dict[str, tuple[Draw, Callable[[float], float]]] = {
    "normal": (lambda source: source.gauss(0, 1), NormalDist().cdf),
    "ceiling, skewness 1": (
        lambda source: 2 - source.gammavariate(4, 1) / 2,
        lambda at: _beyond_gamma4(2 * (2 - at)),
    ),
    "ceiling, exponential": (lambda source: 1 - source.expovariate(1), lambda at: math.exp(min(0.0, at - 1))),
}


def _beyond_gamma4(x: float) -> float:
    return 1.0 if x <= 0 else math.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)


def student(df: int, p: float) -> float:
    """What Student's t with ``df`` degrees of freedom exceeds with probability ``p``."""
    low, high = 0.0, 1e6
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond_student(middle, df) > p else (low, middle)
    return high


def _beyond_student(t: float, df: int) -> float:
    """By the finite series in the angle atan(t / sqrt(df))."""
    angle = math.atan2(t, math.sqrt(df))
    sine, squared = math.sin(angle), math.cos(angle) ** 2
    if df % 2:
        term, total = sine * math.cos(angle), 0.0
        for k in range(1, (df - 1) // 2 + 1):
            total, term = total + term, term * squared * 2 * k / (2 * k + 1)
        return 0.5 - (angle + total) / math.pi
    term, total = sine, 0.0
    for k in range(df // 2):
        total, term = total + term, term * squared * (2 * k + 1) / (2 * k + 2)
    return max(0.0, (1 - total) / 2)


def by_student(values: list[float], assumed: float, p: float) -> float:
    """Mean − t·s·sqrt(1 + 1/n), s no less than the assumed spread; of one machine the normal quantile."""
    n = len(values)
    t = student(n - 1, p) if n > 1 else NormalDist().inv_cdf(1 - p)
    s = max(assumed, statistics.stdev(values) if n > 1 else 0.0)
    return statistics.fmean(values) - t * s * math.sqrt(1 + 1 / n)


def by_normal(values: list[float], assumed: float, p: float) -> float:
    """The same with the normal quantile for every n."""
    n = len(values)
    s = max(assumed, statistics.stdev(values) if n > 1 else 0.0)
    return statistics.fmean(values) - NormalDist().inv_cdf(1 - p) * s * math.sqrt(1 + 1 / n)


def chosen(values: list[float], slack: float, p: float) -> float:
    """The bound that ``nearfar tune`` writes; ``values`` are parts of 1."""
    n, middle = len(values), statistics.median(values)
    between = statistics.stdev(values) / middle if n > 1 else 0.0
    spread = prediction_bound.spread(slack, n, between, 0.0)
    return middle * (1 - prediction_bound.part(slack, n, p, spread, less_is_better=False))


def trial(
    shape: str, n: int, deviation: float, rule: Callable[[list[float]], float], draws: int, seed: int
) -> tuple[float, float]:
    """The chance of a false FAIL, and the median bound, both over ``draws`` rows."""
    draw, below = SHAPES[shape]
    source = random.Random(seed)
    chances, bounds = [], []
    for _ in range(draws):
        bound = max(rule([1 + deviation * draw(source) for _ in range(n)]), 1 - prediction_bound.WIDEST[False])
        chances.append(below((bound - 1) / deviation))
        bounds.append(bound)
    return statistics.fmean(chances), statistics.median(bounds)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--figures", type=int, default=43, help="of a node, that share the budget")
    parser.add_argument("--slack", type=float, default=0.02, help="the row's: 0.02, 0.05 or 0.1")
    args = parser.parse_args()
    assumed, p = prediction_bound.assumed_spread(args.slack), prediction_bound.chance(args.figures)
    rules: dict[str, Callable[[list[float]], float]] = {
        "normal": lambda values: by_normal(values, assumed, p),
        "Student's t": lambda values: by_student(values, assumed, p),
        "chosen": lambda values: chosen(values, args.slack, p),
    }
    print(
        f"{args.figures} figures, {p:.2g} for each; slack {args.slack:g}, assumed spread {assumed:g}; bounds of 1, held above 0.5"
    )
    for name, rule in rules.items():
        print(f"\n{name}: false FAILs in {prediction_bound.NODE_NIGHTS} node-nights (median bound)")
        print(f"{'fleet':22} {'spread':>6} " + " ".join(f"{f'n = {n}':>14}" for n in SIZES))
        for shape in SHAPES:
            for times in SPREADS:
                cells = []
                for n in SIZES:
                    found, bound = trial(shape, n, times * assumed, rule, args.draws, args.seed)
                    false = found * args.figures * prediction_bound.NODE_NIGHTS
                    cells.append(f"{'<0.001' if false < 0.001 else f'{false:.2g}'} ({bound:.2f})")
                print(f"{shape:22} {times:6g} " + " ".join(f"{cell:>14}" for cell in cells))


if __name__ == "__main__":
    main()
