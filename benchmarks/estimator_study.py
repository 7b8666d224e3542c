#!/usr/bin/env python3
"""Which figure, which interval and how many visits: candidates compared on traces of real machines and on simulated ones.

Prints tables in Markdown. A run is a number of visits of equal samples; "range" is the greatest less the least of 20 runs over their
median, in per cent: the median of many such ranges, and the worst. Needs the standard library alone.

    benchmarks/estimator_study.py                                  simulated machines
    benchmarks/estimator_study.py TRACE.json…                      and traces: series of copies, or visits one after the other
    benchmarks/estimator_study.py DOCUMENT.json…                   and what single runs of a program said (measurement documents, version 2)
    benchmarks/estimator_study.py --table spread --table stop …    some of the tables
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from benchmarks import estimators as est  # noqa: E402
from benchmarks.noisy_machines import Machine, from_trace, simulated  # noqa: E402
from benchmarks.visit_traces import Trace, Unreadable, read  # noqa: E402

#: Runs that a range is taken over.
RUNS = 20
SAMPLES = 6
#: Visits, seconds from the first to the last.
SHAPES = ((2, 1.0), (3, 1.0), (3, 3.0), (5, 3.0), (5, 8.0), (8, 8.0))
#: The plateau may be this far below a healthy one before a fault shows.
LIMIT = 0.98
Runs = list[list[list[float]]]
Table = Callable[["Study"], Iterator[str]]


class Study:
    """The machines and how many runs are drawn of each."""

    def __init__(self, machines: Sequence[Machine], traces: Sequence[Trace], groups: int, seed: int) -> None:
        self.machines, self.traces, self.groups, self.seed = machines, traces, groups, seed
        self.runs = cache(self._runs)

    def _runs(self, machine: Machine, visits: int, span: float, samples: int = SAMPLES) -> Runs:
        """Independent runs of a machine, the same for the same arguments and seed."""
        source = random.Random(f"{self.seed} {machine.name} {visits} {span} {samples}")
        return [machine.draw(source, visits, span, samples) for _ in range(RUNS * self.groups)]

    def spaced(self, machine: Machine, visits: int, gap: float) -> Runs:
        """Runs whose visits are `gap` seconds apart, as far as the machine lets that be chosen."""
        return self.runs(machine, visits, gap * (visits - 1))


def both(values: Sequence[float]) -> str:
    """The median and the worst of the ranges of each 20 values, per cent."""
    found = []
    for at in range(0, len(values) - RUNS + 1, RUNS):
        part = values[at : at + RUNS]
        found.append(100 * (max(part) - min(part)) / median(part))
    return f"{median(found):.2f} / {max(found):.2f}"


def share(flags: Sequence[bool]) -> float:
    """Of a hundred."""
    return 100 * sum(flags) / len(flags)


def row(*cells: object) -> str:
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def heading(title: str, *columns: object) -> Iterator[str]:
    """A table's title and its first two lines."""
    yield from ("", f"### {title}", "", row(*columns), row(*["---"] * len(columns)))


def shapes_of(machine: Machine) -> list[tuple[int, float]]:
    """The shapes of runs that the machine can give."""
    return list(SHAPES) if machine.spacing is None else sorted({(visits, 0.0) for visits, _ in SHAPES})


def apart(machine: Machine, span: float) -> str:
    """A run's length in words."""
    return f"{span:g} s" if machine.spacing is None else f"every {machine.spacing:.1f} s"


def spread(study: Study) -> Iterator[str]:
    """Range of each candidate."""
    for machine in study.machines:
        shapes = shapes_of(machine)
        yield from heading(
            f"Range, {machine.name}", "figure", *(f"{visits} visits, {apart(machine, span)}" for visits, span in shapes)
        )
        for name, figure in est.FIGURES.items():
            yield row(name, *(both([figure(run) for run in study.runs(machine, *shape)]) for shape in shapes))


def growth(study: Study) -> Iterator[str]:
    """How each candidate lies to the level, by number of visits."""
    counts = (2, 3, 5, 10)
    for machine in study.machines:
        level = "the true level" if machine.exact else "the 99th percentile of all samples"
        title = f"Median against {level} ({machine.level:.2f} GB/s), per cent, visits 1 s apart, {machine.name}"
        yield from heading(title, "figure", *(f"{n} visits" for n in counts))
        for name, figure in est.FIGURES.items():
            found = (median(map(figure, study.spaced(machine, n, 1.0))) for n in counts)
            yield row(name, *(f"{100 * (value / machine.level - 1):+.2f}" for value in found))


def samples(study: Study) -> Iterator[str]:
    """More samples a visit or more visits."""
    shapes = ((5, 3), (10, 3), (3, 6), (5, 6), (8, 6), (10, 6), (3, 10), (5, 9))
    title = "Range of the plateau, visits × samples within 8 s"
    yield from heading(title, "machine", *(f"{n} × {each}" for n, each in shapes))
    for machine in study.machines:
        runs = (study.runs(machine, n, 8.0, each) for n, each in shapes)
        yield row(machine.name, *(both([est.plateau(run) for run in some]) for some in runs))


#: Faults: what they are called, their factor, the part that has it, whether of samples instead of visits.
FAULTS = (
    ("none", 1.0, 0.0, False),
    ("−5.6 %, all", 0.944, 1.0, False),
    ("−5.6 %, 80 % of visits", 0.944, 0.8, False),
    ("−5.6 %, half of visits", 0.944, 0.5, False),
    ("−5.6 %, half of samples", 0.944, 0.5, True),
    ("−2 %, all", 0.98, 1.0, False),
    ("−3 %, all", 0.97, 1.0, False),
)


def _hurt(run: list[list[float]], source: random.Random, factor: float, part: float, single: bool) -> list[list[float]]:
    """The run with `part` of its visits, or of its samples, times `factor`."""
    if single:
        return [[s * factor if source.random() < part else s for s in visit] for visit in run]
    return [[s * factor for s in visit] if source.random() < part else visit for visit in run]


def faults(study: Study) -> Iterator[str]:
    """How often a fault shows beyond −2 % of the healthy figure."""
    told: dict[str, est.Figure] = {
        "plateau": est.plateau,
        "best visit median": est.FIGURES["visit medians: best"],
        "median": est.pooled_median,
        "steadiness": est.steadiness,
    }
    for visits in (3, 5, 8):
        title = f"A fault shows beyond −2 %, per cent of runs of {visits} visits 1 s apart"
        yield from heading(title, "machine", "figure", *(name for name, *_ in FAULTS))
        for machine in study.machines:
            runs = study.spaced(machine, visits, 1.0)
            source = random.Random(f"{study.seed} faults {machine.name} {visits}")
            hurt = [[_hurt(run, source, factor, part, single) for run in runs] for _, factor, part, single in FAULTS]
            for name, figure in told.items():
                limit = LIMIT * median(map(figure, runs))
                yield row(machine.name, name, *(f"{share([figure(run) < limit for run in some]):.0f}" for some in hurt))


def glitch(study: Study) -> Iterator[str]:
    """What one sample of +5 % does."""
    counts = (2, 3, 5, 8)
    title = "One sample 5 % too high moves the figure by, per cent: median, greatest"
    yield from heading(title, "figure", "machine", *(f"{n} visits" for n in counts))
    for machine in study.machines:
        for name, figure in est.FIGURES.items():
            cells = []
            for visits in counts:
                source, moved = random.Random(f"{study.seed} glitch {visits}"), []
                for run in study.spaced(machine, visits, 1.0)[:200]:
                    wrong = [list(visit) for visit in run]
                    visit = source.choice(wrong)
                    visit[source.randrange(len(visit))] *= 1.05
                    moved.append(100 * (figure(wrong) / figure(run) - 1))
                cells.append(f"{median(moved):.2f}, {max(moved):.2f}")
            yield row(name, machine.name, *cells)


def _ended(runs: Runs, tolerance: float, least: int, confirmed: int) -> tuple[Runs, list[bool]]:
    """The runs as far as the rule takes them, and whether it was content."""
    ends = [est.visits_needed(run, tolerance, least, confirmed) for run in runs]
    return [run[:count] for run, (count, _) in zip(runs, ends)], [content for _, content in ends]


def stop(study: Study) -> Iterator[str]:
    """The rule that says when there are enough visits."""
    rules = [
        (most, *pair, part) for most in (3, 5, 8) for pair in ((2, 2), (3, 2), (3, 3)) for part in (0.003, 0.005, 0.01)
    ]
    columns = ("at most", "at least", "reached by", "within", "visits made", "content", "range of the plateau")
    title = "Visits 1 s apart that end by a rule"
    yield from heading(
        title, "machine", *columns, "its median against the level, %", "content, but 2 % below the level"
    )
    for machine in study.machines:
        for most, least, confirmed, part in rules:
            runs, content = _ended(study.spaced(machine, most, 1.0), part, least, confirmed)
            found = [est.plateau(run) for run in runs]
            low = [well and value < LIMIT * machine.level for value, well in zip(found, content)]
            made, against = fmean(map(len, runs)), 100 * (median(found) / machine.level - 1)
            cells = (most, least, confirmed, f"{100 * part:g} %", f"{made:.2f}", f"{share(content):.0f} %", both(found))
            yield row(machine.name, *cells, f"{against:+.2f}", f"{share(low):.1f} %")


def gaps(study: Study) -> Iterator[str]:
    """How far apart the visits of a cell should be."""
    seconds = (0.07, 0.15, 0.25, 0.4, 1.0, 2.0)
    title = "Range of the plateau under the rule chosen, by seconds from visit to visit"
    yield from heading(title, "machine", *(f"{gap:g} s" for gap in seconds))
    for machine in study.machines:
        if machine.spacing is None:
            yield row(
                machine.name, *(both([est.plateau(run) for run in _chosen(study, machine, gap)]) for gap in seconds)
            )


def _chosen(study: Study, machine: Machine, gap: float = 1.0) -> Runs:
    """Runs that end by the rule chosen."""
    return _ended(study.spaced(machine, est.MOST, gap), est.TOLERANCE, est.CONFIRMED, est.CONFIRMED)[0]


def _long_run(study: Study, machine: Machine, figure: est.Figure) -> float:
    """What the figure is in the long run: its median over runs of eight visits far apart."""
    return median(map(figure, study.runs(machine, 8, 80.0 if machine.exact else 8.0)))


def intervals(study: Study) -> Iterator[str]:
    """Coverage of the intervals."""
    columns = ("the long run's figure", "another run's figure", "the level", "half width, %")
    for machine in study.machines:
        yield from heading(f"Intervals: per cent of runs that hold …, {machine.name}", "interval", "visits", *columns)
        ways = {str(n): study.spaced(machine, n, 1.0) for n in (3, 5, 8)} | {"by the rule": _chosen(study, machine)}
        asked = [(name, inside, est.plateau) for name, inside in est.INTERVALS.items()]
        asked.append(("of the median: Student of visit medians", est.median_interval, est.pooled_median))
        for name, inside, figure in asked:
            truth = _long_run(study, machine, figure)
            for way, runs in ways.items():
                figures = [figure(run) for run in runs]
                found = [est.floored(inside(run), value) for run, value in zip(runs, figures)]
                others = figures[1:] + figures[:1]
                long_run = share([low <= truth <= high for low, high in found])
                another = share([low <= value <= high for value, (low, high) in zip(others, found)])
                level = share([low <= machine.level <= high for low, high in found])
                half = 50 * median((high - low) / truth for low, high in found)
                yield row(name, way, f"{long_run:.0f}", f"{another:.0f}", f"{level:.0f}", f"{half:.2f}")


def together(study: Study) -> Iterator[str]:
    """What all visits of a trace say together, their first samples."""
    traces = [trace for trace in study.traces if len(trace.visits) > 1 and not trace.runs]
    if traces:
        yield from heading(
            "All visits as one run", "trace", "visits", "plateau, GB/s", "its interval", "median", "steadiness"
        )
    for trace in traces:
        run = [samples[:SAMPLES] for _, samples in trace.visits]
        low, high = est.plateau_interval(run)
        told = (f"{est.plateau(run):.2f}", f"{low:.2f} to {high:.2f}", f"{est.pooled_median(run):.2f}")
        yield row(trace.name, len(run), *told, f"{est.steadiness(run):.3f}")


def documents(study: Study) -> Iterator[str]:
    """What single runs of a program said: one row for each rate that several documents hold; of their plateaus the median."""
    told: dict[str, est.Figure] = {
        "median of the first visit": est.FIGURES["one visit: median"],
        "median": est.pooled_median,
        "best visit median": est.FIGURES["visit medians: best"],
        "plateau of the first 2": lambda run: est.plateau(run[:2]),
        "of the first 3": lambda run: est.plateau(run[:3]),
        "of all": est.plateau,
    }
    several = [trace for trace in study.traces if len(trace.runs) > 1]
    if several:
        last = ("plateau, GB/s", "steadiness, least to greatest", "intervals that hold the median of plateaus, %")
        yield from heading("Range over documents, per cent", "rate", "documents", "visits of each", *told, *last)
    for trace in several:
        runs = [[samples for _, samples in run] for run in trace.runs]
        found = [[figure(run) for run in runs] for figure in told.values()]
        cells = (f"{100 * (max(values) - min(values)) / median(values):.2f}" for values in found)
        steady, middle = [est.steadiness(run) for run in runs], median(found[-1])
        inside = [low <= middle <= high for low, high in (est.plateau_interval(run) for run in runs if len(run) > 1)]
        last = (f"{middle:.2f}", f"{min(steady):.3f} to {max(steady):.3f}", f"{share(inside):.0f}" if inside else "–")
        yield row(trace.name, len(runs), f"{fmean(map(len, runs)):.1f}", *cells, *last)


TABLES: dict[str, Table] = {
    table.__name__: table
    for table in (spread, growth, samples, faults, glitch, stop, gaps, intervals, together, documents)
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="traces and measurement documents")
    parser.add_argument("--table", action="append", choices=list(TABLES), help="only these tables")
    parser.add_argument("--groups", type=int, default=20, help=f"of {RUNS} runs, for each machine and shape (20)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if options.groups < 1:
        parser.error("--groups must be at least 1")
    began = time.monotonic()
    try:
        traces = read(options.files)
    except Unreadable as error:
        print(f"estimator_study.py: {error}", file=sys.stderr)
        return 2
    machines = [machine for machine in map(from_trace, traces) if machine is not None]
    study = Study([*machines, *simulated()], traces, options.groups, options.seed)
    for name in options.table or TABLES:
        for line in TABLES[name](study):
            print(line)
    print(f"\nseed {options.seed}, {options.groups} × {RUNS} runs each, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
