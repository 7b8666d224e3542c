#!/usr/bin/env python3
"""The factors of `nearfar tune`, by simulation with a fixed seed; standard library and nearfar.history.tuning alone.

k of median − k·1.4826·MAD: for each n, the least k that leaves the wanted part of a normal distribution above the limit, in
the wanted part of the draws. Critical gaps: for each n, the greatest (of several shapes with one mode: normal, uniform,
Laplace, and an exponential tail to either side, as rates below a line rate have) of the ratios that five draws in a thousand exceed.

    benchmarks/tolerance_factors.py             writes nearfar/tuning/tolerance_factors.json (some minutes)
    benchmarks/tolerance_factors.py --check     simulates some of it anew with another seed, and compares
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable
from itertools import accumulate

from nearfar.history.tuning import modes, tolerance

COVERAGES = (0.9, 0.95, 0.99, 0.999)
CONFIDENCES = (0.9, 0.95, 0.99)
SIZES = (*range(tolerance.LEAST_NODES, 31), 35, 40, 50, 60, 80, 100, 150, 200, 298)
GAP_SIZES = (*range(modes.LEAST, 31, 2), 40, 60, 100, 200, 300)
SHAPES: tuple[Callable[[random.Random], float], ...] = (
    lambda source: source.gauss(0, 1),
    lambda source: source.random(),
    lambda source: source.expovariate(1),
    lambda source: -source.expovariate(1),
    lambda source: source.expovariate(1) - source.expovariate(1),
)
#: How often one mode may look like two.
FALSE_SPLITS = 0.005


def draws(n: int) -> int:
    """More where a draw is cheap."""
    return 100_000 if n <= 30 else 40_000


def factors(sizes: tuple[int, ...], seed: int) -> dict[str, list[float]]:
    """k by ``coverage/confidence``, one for each n; never growing with n."""
    found: dict[str, list[float]] = {f"{c:g}/{p:g}": [] for c in COVERAGES for p in CONFIDENCES}
    for n in sizes:
        ratios = tolerance.simulate(n, COVERAGES, draws(n), random.Random(seed + n))
        for coverage, ordered in zip(COVERAGES, ratios):
            for confidence in CONFIDENCES:
                k = ordered[math.ceil(confidence * len(ordered)) - 1]
                found[f"{coverage:g}/{confidence:g}"].append(round(k, 3))
        print(f"n = {n}: {found['0.99/0.95'][-1]}", flush=True)
    return {key: list(accumulate(reversed(values), max))[::-1] for key, values in found.items()}


def gaps(sizes: tuple[int, ...], seed: int) -> list[float]:
    """The critical ratio for each n; never growing with n."""
    found = []
    for n in sizes:
        worst = 0.0
        for shape in SHAPES:
            source = random.Random(seed + n)
            ratios = sorted(_ratio([shape(source) for _ in range(n)]) for _ in range(20_000 if n <= 60 else 5_000))
            worst = max(worst, ratios[math.ceil((1 - FALSE_SPLITS) * len(ratios)) - 1])
        found.append(round(worst, 3))
        print(f"gap, n = {n}: {found[-1]}", flush=True)
    return list(accumulate(reversed(found), max))[::-1]


def _ratio(values: list[float]) -> float:
    found = modes.split(values)
    assert found is not None
    return found.ratio


def main() -> None:
    """Write the table, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        for n in (10, 20, 30, 100):
            (ratios,) = tolerance.simulate(n, [0.99], 20_000, random.Random(2))
            held = tolerance.factor(n, 0.99, 0.95)
            print(f"n = {n}: held {held:.2f}, now {ratios[math.ceil(0.95 * len(ratios)) - 1]:.2f}")
        return
    table = {
        "made_by": "benchmarks/tolerance_factors.py",
        "n": SIZES,
        "k": factors(SIZES, seed=1),
        "gap": {"n": GAP_SIZES, "ratio": gaps(GAP_SIZES, seed=1)},
    }
    rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in table["k"].items())  # type: ignore[attr-defined]
    rest = [
        f'"made_by": {json.dumps(table["made_by"])}',
        f'"n": {json.dumps(SIZES)}',
        f'"k": {{\n{rows}\n }}',
        f'"gap": {json.dumps(table["gap"])}',
    ]
    tolerance.TABLE.write_text("{\n " + ",\n ".join(rest) + "\n}\n")


if __name__ == "__main__":
    main()
