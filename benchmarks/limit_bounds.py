#!/usr/bin/env python3
"""How often a healthy host is beyond the limits that ``nearfar tune`` makes, by simulation with a fixed seed.

A row is tuned from n hosts of a fleet by ``nearfar.history.tuning.limits`` itself, another host of that fleet is measured, and its
chance of a FAIL and of a DEGRADED is taken from the fleet's own distribution, so that rare events need no rare draws. Fleets
differ in shape (normal, or below a ceiling) and in their spread. Beside it a limit of four standard deviations, and fixed limits.

    benchmarks/limit_bounds.py                       all tables, 4 minutes of one core
    benchmarks/limit_bounds.py --table fleets --kind windowed --figures 100 --seed 2
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import NormalDist

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar.history.tuning import (  # noqa: E402
    ChosenSamples,
    NodeFigure,
    Pool,
    TunedLimit,
    TuneOptions,
    budget,
    limits,
    proposal,
    reference_text,
)
from nearfar.history.tuning.samples import SLACK  # noqa: E402

TABLES = ("fleets", "others", "bad", "retunes")
WHEN = datetime(2026, 11, 1, tzinfo=timezone.utc)
SIZES = (3, 5, 10, 30, 100, 300)
SPREADS = (0.003, 0.005, 0.01)
#: Hosts in standard deviations about their mean; and the part of them that lies below so many.
Draw = Callable[[random.Random], float]
SHAPES: dict[str, tuple[Draw, Callable[[float], float]]] = {
    "normal": (lambda source: source.gauss(0, 1), NormalDist().cdf),
    "ceiling, skewness 1": (
        lambda source: 2 - source.gammavariate(4, 1) / 2,
        lambda at: _beyond_gamma4(2 * (2 - at)),
    ),
    "ceiling, exponential": (lambda source: 1 - source.expovariate(1), lambda at: math.exp(min(0.0, at - 1))),
}
#: FAIL and DEGRADED bounds as parts of the fleet's mean, 1; None where the row was refused.
Bounds = tuple[float, float]
Rule = Callable[[list[list[float]], str, int], "Bounds | None"]
#: Figures a host has of the row, whose values differ as hosts do or each for itself; runs of each.
BOARDS, RUNS = 4, 3


def _beyond_gamma4(x: float) -> float:
    return 1.0 if x <= 0 else math.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)


def pool(hosts: Sequence[Sequence[float]], kind: str) -> Pool:
    """Hosts with the values of their boards, each measured ``RUNS`` times and always the same."""
    figures = (
        NodeFigure(f"n{host}", f"g{board}", (value,) * RUNS)
        for host, own in enumerate(hosts)
        for board, value in enumerate(own)
    )
    return Pool("host_device_check", "H200", "sole.h2d", "GB/s", kind, True, "", None, 0, tuple(figures))


def chosen(hosts: list[list[float]], kind: str, figures: int) -> Bounds | None:
    """What ``nearfar tune`` writes; 0 where a row has no limit."""
    found = limits.limit(pool(hosts, kind), budget.chances(figures))
    if not isinstance(found, TunedLimit):
        return None
    fail = 0.0 if found.bound is None else found.bound
    return fail, fail if found.degraded is None else found.degraded


def four_sigma(hosts: list[list[float]], kind: str, figures: int) -> Bounds:
    """Mean − 4 standard deviations."""
    values = [value for own in hosts for value in own]
    bound = statistics.fmean(values) - 4 * statistics.stdev(values)
    return bound, bound


def fixed(part: float) -> Rule:
    """The median less a part of it."""

    def rule(hosts: list[list[float]], kind: str, figures: int) -> Bounds:
        bound = statistics.median(value for own in hosts for value in own) * (1 - part)
        return bound, bound

    return rule


RULES: dict[str, Rule] = {
    "nearfar tune": chosen,
    "4 sigma": four_sigma,
    "fixed -5 %": fixed(0.05),
    "fixed -10 %": fixed(0.10),
}


def trial(rule: Rule, shape: str, n: int, deviation: float, alike: bool, args: argparse.Namespace) -> str:
    """FAIL and DEGRADED of 1,000 node-nights, the median FAIL bound below the mean, and the part of rows within 4 % (95 % refused)."""
    draw, below = SHAPES[shape]
    source = random.Random(f"{args.seed} {shape} {n} {deviation} {alike}")
    fails, degrades, bounds = [], [], []
    for _ in range(args.draws):
        hosts = []
        for _ in range(n):
            own = [1 + deviation * draw(source)] * BOARDS
            hosts.append(own if alike else [1 + deviation * draw(source) for _ in own])
        found = rule(hosts, args.kind, args.figures)
        if found is None:
            bounds.append(1.0)
            continue
        fails.append(below((found[0] - 1) / deviation))
        degrades.append(below((found[1] - 1) / deviation))
        bounds.append(1 - found[0])
    if not fails:
        return "none"
    times = args.figures * budget.NODE_NIGHTS
    within = sum(bound <= 0.04 for bound in bounds) / len(bounds)
    rates = " / ".join(_rate(statistics.fmean(each) * times) for each in (fails, degrades))
    return f"{rates}, {100 * statistics.median(bounds):.1f} %, {within:.0%}"


def _rate(value: float) -> str:
    return (
        "0" if value < 0.0005 else f"{value:.1g}" if value < 0.1 else f"{value:.2g}" if value < 100 else f"{value:.0f}"
    )


def fleets(args: argparse.Namespace, rules: Sequence[str], spreads: Sequence[float]) -> None:
    """A row for each fleet, a column for each number of hosts."""
    for alike in (True, False):
        layout = (
            "hosts differ, their boards do not" if alike else f"each of {BOARDS} boards of a host differs for itself"
        )
        print(f"\n{layout}\n\n| rule | fleet | spread, % | {' | '.join(f'n = {n}' for n in SIZES)} |")
        print("|" + "---|" * (3 + len(SIZES)))
        for name in rules:
            for shape in SHAPES:
                for deviation in spreads:
                    cells = [trial(RULES[name], shape, n, deviation, alike, args) for n in SIZES]
                    print(f"| {name} | {shape} | {100 * deviation:g} | {' | '.join(cells)} |", flush=True)


def bad_nodes(args: argparse.Namespace) -> None:
    """What nodes that are slow for good, among those that a row is tuned from, make of its FAIL bound."""
    parts = (0.0, 0.1, 0.2, 0.3)
    print(f"\n| fault | hosts | {' | '.join(f'{part:.0%} bad' for part in parts)} |\n|{'---|' * (2 + len(parts))}")
    for fault in (0.03, 0.056, 0.125):
        for n in (10, 30, 100):
            cells = []
            for part in parts:
                source = random.Random(f"{args.seed} {fault} {n} {part}")
                bounds, refused, passed = [], 0, 0
                for _ in range(args.draws // 4):
                    low = round(part * n)
                    hosts = [
                        [(1 - fault * (i < low)) * (1 + source.gauss(0, 0.004)) for _ in range(BOARDS)]
                        for i in range(n)
                    ]
                    found = chosen(hosts, args.kind, args.figures)
                    refused += found is None
                    if found is not None:
                        bounds.append(1 - found[0])
                        passed += found[0] < 1 - fault
                middle = f"{100 * statistics.median(bounds):.1f} %" if bounds else "-"
                draws = args.draws // 4
                cells.append(f"{middle}, {refused / draws:.0%} refused, {passed / draws:.0%} let pass")
            print(f"| −{100 * fault:g} % | {n} | {' | '.join(cells)} |", flush=True)


def retuned(shape: str, n: int, tunes: int, source: random.Random) -> list[Bounds]:
    """The chances of a FAIL and of a DEGRADED for another host of a fleet, after each of ``tunes`` tunes of one file by ``propose``: each
    from all nights so far, five more than the one before. Hosts differ by 0.4 %, runs of a host by 0.2 %."""
    draw, below = SHAPES[shape]
    levels = [[1 + 0.004 * draw(source) for _ in range(BOARDS)] for _ in range(n)]
    nights: list[list[list[float]]] = [[[] for _ in own] for own in levels]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.yaml"
        for _ in range(tunes):
            for host, own in enumerate(levels):
                for board, level in enumerate(own):
                    nights[host][board] += [55 * level * source.gauss(1, 0.002) for _ in range(5)]
            made = (
                NodeFigure(f"n{i}", f"g{g}", tuple(all_)) for i, own in enumerate(nights) for g, all_ in enumerate(own)
            )
            one = Pool("host_device_check", "H200", "sole.h2d", "GB/s", "lone", True, "", None, 0, tuple(made))
            chosen = ChosenSamples((one,), ("simulated",), WHEN, WHEN, {}, {}, 0)
            text = proposal.propose(
                chosen, reference_text.read(path), [], [], TuneOptions(False, ("nearfar", "tune"))
            ).text
            path.write_text(text, encoding="utf-8")
            (row,) = reference_text.read(path).rows.values()
            ends = (row.lowest, row.as_expected[0])
            # What comes and goes from run to run widens the fleet that is judged.
            wide = math.hypot(0.004, 0.002)
            fail, degraded = (0.0 if end is None else below((end / 55 - 1) / wide) for end in ends)
            found.append((fail * BOARDS * budget.NODE_NIGHTS, degraded * BOARDS * budget.NODE_NIGHTS))
    return found


def retunes(args: argparse.Namespace) -> None:
    """FAIL and DEGRADED of 1,000 node-nights after the first and the twelfth tune, over many fleets."""
    print(f"\n| fleet | hosts | first tune | twelfth |\n|{'---|' * 4}")
    for shape in SHAPES:
        for n in (5, 10, 30):
            source = random.Random(f"{args.seed} {shape} {n}")
            runs = [retuned(shape, n, 12, source) for _ in range(max(1, args.draws // 10))]
            cells = [
                " / ".join(_rate(statistics.fmean(run[at][word] for run in runs)) for word in (0, 1)) for at in (0, -1)
            ]
            print(f"| {shape} | {n} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=200, help="rows of each kind")
    parser.add_argument("--figures", type=int, default=43, help="of a node, that share the budget")
    parser.add_argument("--kind", choices=SLACK, default="lone")
    parser.add_argument("--table", choices=TABLES, nargs="+", default=TABLES)
    args = parser.parse_args()
    print(
        f"{args.figures} figures; false FAIL / DEGRADED in 1,000 node-nights, median FAIL bound, rows whose bound is within 4 %"
    )
    if "fleets" in args.table:
        fleets(args, ["nearfar tune"], SPREADS)
    if "others" in args.table:
        fleets(args, [name for name in RULES if name != "nearfar tune"], [0.005])
    if "bad" in args.table:
        bad_nodes(args)
    if "retunes" in args.table:
        retunes(args)


if __name__ == "__main__":
    main()
