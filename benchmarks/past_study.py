#!/usr/bin/env python3
"""Which rule tells that a figure is worse than its own past? False alarms and nights to the alarm of candidates, on simulated nights.

A figure has one value a night; what it varies by is a part of it, in per cent (``--sigma``). The first nights are the baseline, the rest
is watched. Noise: ``white`` (independent nights), ``ar 0.3`` and ``ar 0.6`` (the correlation of a night with the one before), ``levels``
(half of sigma, and on one night in five two sigma lower, in stays of three nights on average), ``bad weeks`` (sigma, and in one week of
twenty all figures of the node 1 % lower for its seven nights: a shared host). A node has 72 figures; but for bad weeks their noise is
independent, which is the worst case for false alarms of the node.

    benchmarks/past_study.py                     the tables of docs/method/own-past.md (about a quarter of an hour on two quiet cores)
    benchmarks/past_study.py --nodes 50          sooner, and coarser
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import median

from nearfar.base import statistics
from nearfar.verdict import baseline

FIGURES, YEAR = 72, 365
LEVEL = 100.0
#: A rule: the nights of a baseline and those after it to the places of the latter on which it speaks.
Rule = Callable[[Sequence[float], Sequence[float]], list[int]]
NOISES = ("white", "ar 0.3", "ar 0.6", "levels", "bad weeks")
#: What is to be seen: the part lost at once, or in a week, per cent.
CHANGES = {"0.1 %/week": (0.0, 0.1), "0.5 %/week": (0.0, 0.5), "5 %/week": (0.0, 5.0), "step 0.5 %": (0.5, 0.0),
           "step 1 %": (1.0, 0.0), "step 2 %": (2.0, 0.0)}  # fmt: skip
WATCHED = 120


def sliding(first: Sequence[float], later: Sequence[float]) -> list[int]:
    """Slack of 3 % or five spreads below the median of the last 30 healthy nights, and worse than all of them."""
    past = list(first)[-30:]
    found = []
    for place, value in enumerate(later):
        middle = median(past)
        # The spread is looked for where it can matter alone.
        if value < min(past) and value < middle * 0.97 and value < middle - 5 * statistics.spread(past):
            found.append(place)
        else:
            past = [*past[-29:], value]
    return found


def plain_cusum(nights: int, allowance: float, evidence: float) -> Rule:
    """A sum of standard deviations against mean and deviation of a number of nights."""

    def rule(first: Sequence[float], later: Sequence[float]) -> list[int]:
        known = first[-nights:]
        mean = math.fsum(known) / nights
        sigma = max(0.0025 * mean, math.sqrt(math.fsum((each - mean) ** 2 for each in known) / (nights - 1)))
        total, found = 0.0, []
        for place, value in enumerate(later):
            total = max(0.0, total + (mean - value) / sigma - allowance)
            if total > evidence:
                found.append(place)
        return found

    return rule


def ewma(weight: float, limit: float) -> Rule:
    """An exponentially weighted mean against the baseline's; ``limit`` in standard deviations of that mean."""

    def rule(first: Sequence[float], later: Sequence[float]) -> list[int]:
        mean, sigma = baseline.level(first, 0.0025)
        bound = mean - limit * sigma * math.sqrt(weight / (2 - weight))
        smooth, found = mean, []
        for place, value in enumerate(later):
            smooth += weight * (value - smooth)
            if smooth < bound:
                found.append(place)
        return found

    return rule


def page_hinkley(allowance: float, evidence: float) -> Rule:
    """Page and Hinkley: a sum against the running mean of all nights so far."""

    def rule(first: Sequence[float], later: Sequence[float]) -> list[int]:
        mean, sigma = baseline.level(first, 0.0025)
        n, total, found = len(first), 0.0, []
        for place, value in enumerate(later):
            n += 1
            mean += (value - mean) / n
            total = max(0.0, total + (mean - value) / sigma - allowance)
            if total > evidence:
                found.append(place)
        return found

    return rule


def trend(nights: int, limit: float) -> Rule:
    """The slope of a straight line through the last nights, in its own standard errors."""
    times = [each - (nights - 1) / 2 for each in range(nights)]
    squares = math.fsum(each * each for each in times)

    def rule(first: Sequence[float], later: Sequence[float]) -> list[int]:
        every, found = [*first, *later], []
        for place in range(len(later)):
            end = len(first) + place + 1
            last = every[end - nights : end]
            if len(last) < nights or place % 3:
                continue
            slope = math.fsum(a * b for a, b in zip(last, times)) / squares
            mean = math.fsum(last) / nights
            left = math.fsum((a - mean - slope * b) ** 2 for a, b in zip(last, times)) / (nights - 2)
            if -slope * math.sqrt(squares) > limit * math.sqrt(max(left, (0.0025 * mean) ** 2)):
                found.append(place)
        return found

    return rule


def chosen(host: str) -> Rule:
    """The rule of ``nearfar.verdict.baseline``; its step of one night left out."""
    evidence = baseline.EVIDENCE[host]

    def rule(first: Sequence[float], later: Sequence[float]) -> list[int]:
        mean, sigma = baseline.level(first[-baseline.NIGHTS :], baseline.FLOOR["lone"])
        total, found = 0.0, []
        for place, value in enumerate(later):
            total = baseline.grown(total, (mean - value) / sigma, baseline.ALLOWANCE, evidence)
            if total > evidence:
                last = median(later[max(0, place + 1 - baseline.LAST) : place + 1])
                if mean - last > baseline.ALLOWANCE * sigma:
                    found.append(place)
        return found

    return rule


RULES: dict[str, Rule] = {
    "sliding median (before)": sliding,
    "CUSUM, 20 nights, k 0.5, h 5": plain_cusum(20, 0.5, 5.0),
    "CUSUM, 20 nights, k 1, h 7": plain_cusum(20, 1.0, 7.0),
    "EWMA 0.1, 6 sigma": ewma(0.1, 6.0),
    "Page-Hinkley, k 0.5, h 12": page_hinkley(0.5, 12.0),
    "trend of 40 nights, 6 errors": trend(40, 6.0),
    "chosen, own host": chosen("own"),
    "chosen, shared host": chosen("shared"),
}


def noise(kind: str, sigma: float, nights: int, source: random.Random) -> list[float]:
    """What nights are off, in per cent."""
    if kind.startswith("ar"):
        r = float(kind.split()[1])
        now, found, fresh = source.gauss(0, 1), [], math.sqrt(1 - r * r)
        for _ in range(nights):
            now = r * now + fresh * source.gauss(0, 1)
            found.append(sigma * now)
        return found
    if kind == "levels":
        low, found = source.random() < 0.2, []
        for _ in range(nights):
            low = not low if source.random() < (1 / 3 if low else 1 / 12) else low
            found.append(sigma * (0.5 * source.gauss(0, 1) - 2 * low))
        return found
    return [source.gauss(0, sigma) for _ in range(nights)]


def node(kind: str, sigma: float, source: random.Random) -> Iterator[tuple[list[float], list[float]]]:
    """A year of a healthy node: of each figure the baseline, and the nights after it."""
    nights = baseline.NIGHTS + YEAR
    weeks = [source.random() < 0.05 and kind == "bad weeks" for _ in range(nights // 7 + 1)]
    for _ in range(FIGURES):
        values = [LEVEL * (1 + each / 100) - weeks[t // 7] for t, each in enumerate(noise(kind, sigma, nights, source))]
        yield values[: baseline.NIGHTS], values[baseline.NIGHTS :]


def healthy(job: tuple[str, float, int, int]) -> dict[str, tuple[int, int, int]]:
    """By rule: on how many node-years, how many of them had a false alarm, and on how many node-nights it spoke. What was not chosen is
    tried on every fourth."""
    kind, sigma, nodes, seed = job
    source = random.Random(f"{kind} {sigma} {seed}")
    found = dict.fromkeys(RULES, (0, 0, 0))
    for number in range(nodes):
        nights: dict[str, set[int]] = {name: set() for name in RULES if number % 4 == 0 or name.startswith("chosen")}
        for first, later in node(kind, sigma, source):
            for name, spoken in nights.items():
                spoken.update(RULES[name](first, later))
        for name, spoken in nights.items():
            years, alarms, count = found[name]
            found[name] = years + 1, alarms + bool(spoken), count + len(spoken)
    return found


def faulty(job: tuple[str, float, int]) -> dict[str, list[float]]:
    """By rule: the nights to its first word after a change sets in on the night after the baseline; infinite where it was silent."""
    change, sigma, figures = job
    step, weekly = CHANGES[change]
    source = random.Random(f"{change} {sigma}")
    found: dict[str, list[float]] = {name: [] for name in RULES}
    for _ in range(figures):
        off = noise("white", sigma, baseline.NIGHTS + WATCHED, source)
        values = [LEVEL * (1 + each / 100) for each in off]
        first = values[: baseline.NIGHTS]
        later = [value * (1 - (step + weekly * (t + 1) / 7) / 100) for t, value in enumerate(values[baseline.NIGHTS :])]
        for name, rule in RULES.items():
            found[name].append(next((place + 1 for place in rule(first, later)), math.inf))
    return found


def at_most(count: int, of: int) -> float:
    """The upper 95 % bound of a share, by Clopper and Pearson."""
    if count >= of:
        return 1.0
    low, high = count / of, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        term = total = (1 - middle) ** of
        for k in range(count):
            term *= (of - k) / (k + 1) * middle / (1 - middle) if middle < 1 else 0.0
            total += term
        low, high = (middle, high) if total > 0.05 else (low, middle)
    return high


def main() -> None:
    """Simulate and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=400, help="node-years of each kind of noise")
    parser.add_argument("--figures", type=int, default=1000, help="figures with each change")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    parts = 8
    quiet = [("white", 0.25), *((kind, 0.3) for kind in NOISES), ("white", 1.0)]
    with ProcessPoolExecutor(args.processes) as pool:
        jobs = [(kind, sigma, -(-args.nodes // parts), seed) for kind, sigma in quiet for seed in range(parts)]
        answers = list(pool.map(healthy, jobs))
        changes = [(change, 0.25 if change.startswith("step") else 0.3, args.figures) for change in CHANGES]
        seen = list(pool.map(faulty, changes))
    print(
        f"A year of {parts * -(-args.nodes // parts)} healthy nodes of {FIGURES} figures (of a fourth of them where not chosen):"
    )
    print("node-years with a false alarm, % (at most, 95 %); DEGRADED of 1,000 node-nights\n")
    print("| rule | " + " | ".join(f"{kind}, sigma {sigma:g} %" for kind, sigma in quiet) + " |")
    print("|---|" + "---|" * len(quiet))
    for name in RULES:
        cells = []
        for _, group in itertools.groupby(zip(jobs, answers), key=lambda pair: pair[0][:2]):
            every = [answer[name] for _, answer in group]
            years, alarms, nights = (sum(each) for each in zip(*every))
            cells.append(
                f"{100 * alarms / years:.2g} (≤ {100 * at_most(alarms, years):.2g}); {1000 * nights / years / YEAR:.2g}"
            )
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(f"\nNights to the alarm, median and 95 % of {args.figures} figures (drifts: sigma 0.3 %, steps: 0.25 %;")
    print(f"–: not within {WATCHED} nights; in brackets: within sixty)\n")
    print("| rule | " + " | ".join(change for change, _, _ in changes) + " |")
    print("|---|" + "---|" * len(changes))
    for name in RULES:
        print(f"| {name} | " + " | ".join(_nights(each[name]) for each in seen) + " |")


def _nights(found: Sequence[float]) -> str:
    ranked = sorted(found)
    middle, most = (ranked[min(len(ranked) - 1, int(share * len(ranked)))] for share in (0.5, 0.95))
    within = sum(each <= 60 for each in found) / len(found)
    return ", ".join("–" if math.isinf(each) else f"{each:.0f}" for each in (middle, most)) + f" ({100 * within:.0f} %)"


if __name__ == "__main__":
    main()
