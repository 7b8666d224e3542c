#!/usr/bin/env python3
"""How often ``nearfar compare`` calls something significant where nothing changed, and how often it finds what did, by simulation
with a fixed seed; and the same of real runs of one machine, each compared with each.

A simulated run has the figures of a node with two GPUs. Hosts differ in the spread of a figure from run to run, which is skewed
(what disturbs only takes away), half of it common to the figures of a kind in one run. What others took of a noisy host's sums keeps
some from converging. Prints tables in Markdown.

    benchmarks/compare_trials.py                               simulated: 8 min of one core
    benchmarks/compare_trials.py --trials 2000 --seed 2
    benchmarks/compare_trials.py RUN RUN RUN …                 healthy runs of one machine, without a change and with one
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, stdev

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar.compare import FigureChange, changes, sides, spreads  # noqa: E402
from nearfar.verdict import JudgedMetric  # noqa: E402

#: How many figures of each kind a run has: those of two H200s that are counted, without GPUs sharing a link.
FIGURES = {"lone": 18, "together": 8, "shared": 6, "stream": 1, "loads": 4, "latency": 8, "program": 8}
#: Standard deviation of a figure from run to run by host and kind, as a part (benchmarks/studies/compare.md has where they are from).
HOSTS = {
    "quiet": {"lone": 0.0005, "together": 0.002, "shared": 0.004, "stream": 0.015, "loads": 0.001, "latency": 0.015, "program": 0.004},
    "noisy": {"lone": 0.0025, "together": 0.015, "shared": 0.02, "stream": 0.04, "loads": 0.006, "latency": 0.05, "program": 0.02},
}  # fmt: skip
HOSTS["quiet, with spells"] = HOSTS["quiet"]
HOSTS["twice as noisy"] = {kind: 2 * spread for kind, spread in HOSTS["noisy"].items()}
#: A figure of a run that was measured in a bad spell alone lies so much lower, sure of itself; and how often that is.
SPELL, SPELLS = 0.07, 0.001
HOST_PAIRS = (
    ("quiet", "quiet"), ("noisy", "noisy"), ("quiet", "noisy"), ("quiet, with spells", "quiet, with spells"),
    ("twice as noisy", "twice as noisy"),
)  # fmt: skip
#: The part of a figure's variance that it has in common with the others of its kind in a run.
COMMON = 0.5
#: How often a figure of these kinds does not converge, by host.
UNSETTLED = {"quiet": 0.1, "quiet, with spells": 0.1, "noisy": 0.6, "twice as noisy": 0.6}
SETTLE = ("together", "shared", "stream")
RUNS, CHANGES = (1, 3, 5, 10), (0.01, 0.02, 0.05)
NODES, FLEET_CHANGES = 20, (0.0, 0.005, 0.01)
#: No interval over visits is narrower to either side.
NARROWEST = 0.002
SUBJECTS = {"lone": "n0:g0", "together": "n0:g0+g0:n0", "shared": "n0:g0/x2", "stream": "c0:n0/triad"}
QUANTITIES = {"stream": "stream", "loads": "latency.chase", "latency": "latency.copy", "program": "kernel.sgemm"}

Run = list[sides.RunFigure]


def metric(kind: str) -> JudgedMetric:
    """A figure of a kind, of 100 in its unit."""
    time = kind in ("loads", "latency")
    return JudgedMetric(
        name=kind, quantity=QUANTITIES.get(kind, "copy"), subject=SUBJECTS.get(kind, "n0:g0" if time else "saxpy"), flow=None, bytes=None,
        path_class="near", question="", derived="", gpus=(0,), engine="ce", value=100.0, unit="us" if time else "GB/s", interval=None,
        n=None, least=None, most=None, samples=(), converged=True, verified=True, limited_by=(), ceiling=None, rows=(), beside=(),
        remeasured=False, throttled=False, contended=False, reference=None, degraded_below=None, baseline=None, verdict="PASS",
        reason=None,
    )  # fmt: skip


KINDS = [kind for kind, count in FIGURES.items() for _ in range(count)]
METRICS = {kind: metric(kind) for kind in FIGURES}


def loss(source: random.Random, deviation: float) -> float:
    """What a run lost beside the mean run: skewed, with this standard deviation."""
    return source.gammavariate(2, deviation / math.sqrt(2)) - math.sqrt(2) * deviation


def simulated(source: random.Random, host: str) -> Run:
    """The figures of one run."""
    common = {kind: loss(source, math.sqrt(COMMON) * spread) for kind, spread in HOSTS[host].items()}
    found = []
    for kind in KINDS:
        spread = HOSTS[host][kind]
        spell = SPELL if "spells" in host and source.random() < SPELLS else 0.0
        lost = spell + common[kind] + loss(source, math.sqrt(1 - COMMON) * spread)
        sample = METRICS[kind]
        value = 100 * math.exp(lost if sample.unit == "us" else -lost)
        half = max(NARROWEST, spread * source.uniform(0.5, 3))
        settled = kind not in SETTLE or source.random() >= UNSETTLED[host]
        interval = value * (1 - half), value * (1 + half)
        found.append(sides.RunFigure(replace(sample, value=value, interval=interval, converged=settled), False))
    return found


def compared(
    before: Sequence[Run], after: Sequence[Run], part: float, changed: Callable[[int], bool]
) -> list[FigureChange]:
    """The pairs of figures; those that ``changed`` names are worse by ``part`` after."""
    found = []
    for position in range(len(before[0])):
        sample = before[0][position].metric
        factor = (1 + part if sample.unit in spreads.LESS_IS_BETTER else 1 - part) if changed(position) else 1.0
        scaled = [_scaled(run[position], factor) for run in after]
        found.append(changes.of_figure(("n", "n"), "check", [run[position] for run in before], scaled))
    return changes.decided(found)


def benjamini_hochberg(found: Sequence[FigureChange]) -> set[int]:
    """The positions of the changes that this procedure would call significant."""
    order = sorted((i for i, change in enumerate(found) if change.tested), key=lambda i: found[i].chance)
    least = [rank for rank, i in enumerate(order, 1) if found[i].chance <= changes.BUDGET * rank / len(order)]
    return set(order[: max(least, default=0)])


def _scaled(figure: sides.RunFigure, factor: float) -> sides.RunFigure:
    if factor == 1.0:
        return figure
    own = figure.metric
    interval = own.interval and (own.interval[0] * factor, own.interval[1] * factor)
    return replace(figure, metric=replace(own, value=(own.value or 0.0) * factor, interval=interval))


def false_alarms(source: random.Random, trials: int) -> Iterator[str]:
    """Comparisons in which anything was significant though nothing changed."""
    yield "| host, runs a side | Holm: anything significant | Benjamini-Hochberg | figures tested | significant, of 1,000 figures |"
    yield "|---|---|---|---|---|"
    pairs = [(first, second, runs) for first, second in HOST_PAIRS for runs in RUNS]
    for first, second, runs in pairs:
        holm = hochberg = tested = figures = 0
        for _ in range(trials):
            before, after = ([simulated(source, host) for _ in range(runs)] for host in (first, second))
            found = compared(before, after, 0.0, lambda _: False)
            count = sum(change.significant for change in found)
            holm, figures = holm + (count > 0), figures + count
            hochberg += bool(benjamini_hochberg(found))
            tested += sum(change.tested for change in found)
        words = first if first == second else f"{first} before, {second} after"
        row = [
            f"{words}, {runs}",
            f"{holm / trials:.1%}",
            f"{hochberg / trials:.1%}",
            f"{tested / trials:.0f}",
            f"{1000 * figures / tested:.2f}",
        ]
        yield f"| {' | '.join(row)} |"


def detection(source: random.Random, trials: int) -> Iterator[str]:
    """How many of the changed figures are found."""
    yield (
        "| host, runs a side | "
        + " | ".join(
            f"{what} {part:.0%}" for what in ("one GPU's copies alone", "all copies alone", "sums") for part in CHANGES
        )
        + " |"
    )
    yield "|---|" + "---|" * 9
    lone = [position for position, kind in enumerate(KINDS) if kind == "lone"]
    groups = [set(lone[:4]), set(lone), {position for position, kind in enumerate(KINDS) if kind == "together"}]
    for host, runs in itertools.product(("quiet", "noisy"), RUNS):
        row = []
        for group, part in itertools.product(groups, CHANGES):
            found = 0
            for _ in range(trials):
                before, after = ([simulated(source, host) for _ in range(runs)] for _ in range(2))
                marked = compared(before, after, part, group.__contains__)
                found += sum(marked[position].significant for position in group)
            row.append(f"{found / trials / len(group):.0%}")
        yield f"| {host}, {runs} | " + " | ".join(row) + " |"


def procedures(source: random.Random, trials: int) -> Iterator[str]:
    """Holm beside Benjamini-Hochberg where all copies alone of a noisy host are 1 % slower."""
    heads = [
        f"{name}: {what}" for name in ("Holm", "Benjamini-Hochberg") for what in ("found", "an unchanged figure called")
    ]
    yield f"| runs a side | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|"
    lone = {position for position, kind in enumerate(KINDS) if kind == "lone"}
    for runs in RUNS:
        called: list[list[set[int]]] = [[], []]
        for _ in range(trials):
            before, after = ([simulated(source, "noisy") for _ in range(runs)] for _ in range(2))
            found = compared(before, after, CHANGES[0], lone.__contains__)
            called[0].append({position for position, change in enumerate(found) if change.significant})
            called[1].append(benjamini_hochberg(found))
        row = [
            f"{sum(map(count, own)) / trials / most:.1%}"
            for own in called
            for count, most in ((lambda each: len(each & lone), len(lone)), (lambda each: bool(each - lone), 1))
        ]
        yield f"| {runs} | {' | '.join(row)} |"


def fleets(source: random.Random, trials: int) -> Iterator[str]:
    """Twenty nodes with one run a side: nothing changed, and all copies alone of all nodes slower."""
    heads = ["host", "copies alone", "anything unchanged called", "found of all nodes together", "found node by node"]
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|---|"
    lone = {position for position, kind in enumerate(KINDS) if kind == "lone"}
    for host, part in itertools.product(("quiet", "noisy"), FLEET_CHANGES):
        alarms = together = single = 0
        for _ in range(trials):
            each = [
                compared([simulated(source, host)], [simulated(source, host)], part, lone.__contains__)
                for _ in range(NODES)
            ]
            figures = [[node[position] for node in each if node[position].tested] for position in range(len(KINDS))]
            means = [changes.across_nodes(own) for own in figures if len(own) > 1]
            found = changes.decided([*means, *(change for node in each for change in node)])
            called = [change for change in found if change.significant]
            changed = [change for change in called if part and change.kind == "lone"]
            alarms += len(changed) < len(called)
            together += sum(change.across for change in changed)
            single += sum(not change.across for change in changed)
        all_of_them = trials * len(lone)
        ends = [f"{alarms / trials:.0%}", f"{together / all_of_them:.0%}", f"{single / all_of_them / NODES:.0%}"]
        yield f"| {host} | {f'−{part:.1%}' if part else 'as before'} | {' | '.join(ends if part else [ends[0], '', ''])} |"


def real(folders: Sequence[Path]) -> Iterator[str]:
    """Runs of one machine: each with each, then sets of them, with the changed figures multiplied."""
    read = [sides.figures(sides.read([folder]).nodes[0]) for folder in folders]
    keys = [key for key in read[0] if all(key in run for run in read) and sides.counted(read[0][key][0].metric)]
    runs = [[run[key][0] for key in keys] for run in read]
    lone = {i for i, figure in enumerate(runs[0]) if spreads.kind(figure.metric) == "lone"}
    heads = [
        "runs a side",
        "comparisons",
        "tested",
        "anything significant",
        *(f"copies alone −{p:.0%} found" for p in CHANGES),
    ]
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|" + "---|" * len(CHANGES)
    for count in range(1, len(runs) // 2 + 1):
        whole = set(range(len(runs)))
        pairs = [
            (one, other)
            for one in itertools.combinations(sorted(whole), count)
            for other in itertools.combinations(sorted(whole - set(one)), count)
        ]
        rows = [
            [compared([runs[i] for i in a], [runs[i] for i in b], part, lone.__contains__) for a, b in pairs]
            for part in (0.0, *CHANGES)
        ]
        alarms = sum(any(change.significant for change in found) for found in rows[0])
        tested = sum(sum(change.tested for change in found) for found in rows[0]) / len(pairs)
        hits = [sum(found[i].significant for found in each for i in lone) / len(pairs) / len(lone) for each in rows[1:]]
        yield f"| {count} | {len(pairs)} | {tested:.0f} | {alarms} | " + " | ".join(f"{hit:.0%}" for hit in hits) + " |"


def spread_table(folders: Sequence[Path]) -> Iterator[str]:
    """The standard deviation from run to run of each kind of figure, beside the assumed one."""
    read = [sides.figures(sides.read([folder]).nodes[0]) for folder in folders]
    found: dict[str, list[float]] = {}
    for key, (figure, *_) in read[0].items():
        values = [run[key][0].metric.value or math.nan for run in read if key in run]
        if len(values) > 1 and sides.counted(figure.metric):
            found.setdefault(spreads.kind(figure.metric), []).append(stdev(values) / fmean(values))
    yield "| kind | figures | least | median | greatest | assumed |"
    yield "|---|---|---|---|---|---|"
    for kind, each in found.items():
        ends = " | ".join(f"{value:.2%}" for value in (min(each), median(each), max(each), spreads.ASSUMED[kind]))
        yield f"| {spreads.WORDS[kind]} | {len(each)} | {ends} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.runs:
        print(*spread_table(args.runs), "", *real(args.runs), sep="\n")
        return
    source = random.Random(args.seed)
    some = max(1, args.trials // 10)
    print(*false_alarms(source, args.trials), "", *detection(source, some), "", *procedures(source, some), sep="\n")
    print("", *fleets(random.Random(args.seed), some), sep="\n")


if __name__ == "__main__":
    main()
