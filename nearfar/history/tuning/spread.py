"""The spread of the next figure of a healthy host in one run: hosts, boards and paths of a host, and runs estimated apart, and
joined with what is known of such figures before any is measured (docs/method/limits.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from nearfar.base import statistics

#: Standard deviation from host to host by kind of row, as a part of the value, before any host is measured; it weighs as much as
#: so many further hosts.
ASSUMED = {"lone": 0.005, "windowed": 0.015, "stream": 0.01, "latency": 0.03, "percentile": 0.2, "worst": 0.3}
ASSUMED_WEIGHT = 3
#: Skewness to the worse side before any figure is measured, and how many independent figures it weighs as much as.
ASSUMED_SKEWNESS, SKEWNESS_WEIGHT = 1.0, 10
#: How many times its standard error a clear skewness is raised.
CAUTION = 1.5
#: No distribution of healthy figures is believed to have a longer tail than an exponential.
MOST_SKEWNESS = 2.0
#: What a figure's own interval says of its noise weighs as much as so many further runs.
INTERVAL_WEIGHT = 4
#: A run beyond so many deviations of its figure's others tells of a bad moment, not of the spread.
_WILD = 6.0
#: Noise below this part is the resolution of the measurement.
_RESOLUTION = 0.0003


@dataclass(frozen=True)
class HostFigure:
    """One figure of one host: how far each of its runs lies on the worse side of the pool's middle (``runs``) and their middle
    (``middle``), and the standard deviation that its own intervals tell (``own``; None: unknown). All are parts of the pool's middle."""

    host: str
    middle: float
    runs: Sequence[float]
    own: float | None = None


@dataclass(frozen=True)
class Spread:
    """``deviation`` is the standard deviation of the next figure, an estimate of ``freedom`` degrees of freedom; ``skewness`` that of
    its tail on the worse side, ``least_skewness`` what of it was measured. ``run`` is the part of the deviation that comes and goes
    from run to run."""

    deviation: float
    freedom: float
    skewness: float
    least_skewness: float
    run: float


def estimate(figures: Sequence[HostFigure], kind: str) -> Spread:
    """The spread of healthy ``figures`` (one at least).

    With A, B and C the variances between the means of hosts, between the figures of a host, and between the runs of a figure,
    of m figures a host and r runs a figure, the variance of the next is A + (1 − 1/m)·B + (1 − 1/r)·C.
    """
    hosts: dict[str, list[float]] = {}
    for figure in figures:
        hosts.setdefault(figure.host, []).append(figure.middle)
    n, count, runs = len(hosts), len(figures), sum(len(figure.runs) for figure in figures)
    means = {host: fmean(own) for host, own in hosts.items()}
    weight = ASSUMED_WEIGHT + n - 1
    middle = fmean(means.values())
    between = (ASSUMED_WEIGHT * ASSUMED[kind] ** 2 + sum((mean - middle) ** 2 for mean in means.values())) / weight
    among = _ratio(sum((value - means[host]) ** 2 for host, own in hosts.items() for value in own), count - n)
    own_runs, run_freedom = _of_runs(figures)
    measured = (n - 1) / weight
    parts: list[tuple[float, float]] = [(between, weight), ((1 - measured * n / count) * among, count - n)]
    parts.append(((1 - (1 if count > n else measured) * count / runs) * own_runs, run_freedom))
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / free for part, free in parts if free)
    skewness, least = _skewness([run for figure in figures for run in figure.runs], max(0.0, freedom - ASSUMED_WEIGHT))
    # Of a distribution with a tail so many values tell less of its deviation: its kurtosis is 3 + 1.5 · skewness². What is assumed and one
    # host are never less: few values seldom know their skewness.
    freedom = max(freedom / (1 + 0.75 * least**2), min(freedom, ASSUMED_WEIGHT + 1))
    return Spread(math.sqrt(variance), freedom, skewness, least, math.sqrt(own_runs))


def _of_runs(figures: Sequence[HostFigure]) -> tuple[float, float]:
    """The variance from run to run of a figure, and its degrees of freedom; wild runs left out."""
    residuals = [run - figure.middle for figure in figures if len(figure.runs) > 1 for run in figure.runs]
    freedom = len(residuals) - sum(len(figure.runs) > 1 for figure in figures)
    # A figure's middle run has none of its own.
    moved = [abs(residual) for residual in residuals if residual]
    most = max(_RESOLUTION, statistics.SIGMA_PER_MAD * statistics.median(moved) if moved else 0.0)
    squares = sum(min(abs(residual), _WILD * most) ** 2 for residual in residuals)
    owns = [figure.own**2 for figure in figures if figure.own is not None]
    weight = INTERVAL_WEIGHT if owns else 0
    squares += weight * (statistics.median(owns) if owns else 0.0)
    return _ratio(squares, freedom + weight), freedom + weight


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _skewness(values: Sequence[float], independent: float) -> tuple[float, float]:
    """The skewness of ``values``, of which so many are ``independent`` of each other: held to the assumed one, and to none.

    What is clearly more than none is taken for more by its own uncertainty: samples of a distribution with a tail seldom show it.
    """
    n, middle = len(values), fmean(values)
    second, third = (sum((value - middle) ** power for value in values) / n for power in (2, 3))
    measured = third / second**1.5 if second > _RESOLUTION**2 else 0.0
    if independent > 3:
        measured *= math.sqrt(independent * (independent - 1)) / (independent - 2)
        unsure = math.sqrt(6 / independent)
        measured += CAUTION * unsure * min(1.0, max(0.0, measured / unsure - 1))

    def held(assumed: float) -> float:
        joined = (independent * measured + SKEWNESS_WEIGHT * assumed) / (independent + SKEWNESS_WEIGHT)
        return min(MOST_SKEWNESS, max(0.0, joined))

    return held(ASSUMED_SKEWNESS), held(0.0)
