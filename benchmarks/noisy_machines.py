"""Machines whose rate is disturbed, for `benchmarks/estimator_study.py`: simulated ones of known level, and traces cut into runs."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.estimators import quantile
from benchmarks.visit_traces import SAMPLE, Trace

#: What the simulated paths can do, GB/s.
LEVEL = 55.0
#: Draws a run of (visits, seconds from the first visit to the last, samples a visit).
Draw = Callable[[random.Random, int, float, int], list[list[float]]]


@dataclass(frozen=True)
class Machine:
    """`level` is what the path can do, GB/s; `exact` where that is known. `spacing`: seconds between visits that cannot be chosen."""

    name: str
    level: float
    exact: bool
    draw: Draw
    spacing: float | None = None


@dataclass(frozen=True)
class Wander:
    """A normal value of deviation one that forgets itself over `time` seconds."""

    time: float

    def start(self, source: random.Random) -> float:
        """A value."""
        return source.gauss(0, 1)

    def step(self, source: random.Random, value: float, seconds: float) -> float:
        """The value so many seconds later."""
        keep = math.exp(-seconds / self.time)
        return keep * value + math.sqrt(1 - keep * keep) * source.gauss(0, 1)


@dataclass(frozen=True)
class Switch:
    """1 for `up` seconds on average, then 0 for `down`."""

    up: float
    down: float

    def start(self, source: random.Random) -> float:
        """A value."""
        return float(source.random() < self.up / (self.up + self.down))

    def step(self, source: random.Random, value: float, seconds: float) -> float:
        """The value so many seconds later."""
        share = self.up / (self.up + self.down)
        keep = math.exp(-seconds * (1 / self.up + 1 / self.down))
        return float(source.random() < share + keep * (value - share))


def _pause(visits: int, span: float, samples: int) -> float:
    """Seconds from the end of a visit to the start of the next."""
    return max(0.0, span / (visits - 1) - samples * SAMPLE) if visits > 1 else 0.0


def _drawn(states: Sequence[Wander | Switch], rate: Callable[[random.Random, list[float]], float]) -> Draw:
    """Draws rates that follow from states, which go on in time."""

    def draw(source: random.Random, visits: int, span: float, samples: int) -> list[list[float]]:
        values, run = [state.start(source) for state in states], []
        pause = _pause(visits, span, samples)
        for _ in range(visits):
            visit = []
            for _ in range(samples):
                visit.append(rate(source, values))
                values = [state.step(source, value, SAMPLE) for state, value in zip(states, values)]
            values = [state.step(source, value, pause) for state, value in zip(states, values)]
            run.append(visit)
        return run

    return draw


def quiet() -> Machine:
    """Independent samples, 0.1 %, about the level."""
    return Machine("quiet, 0.1 %", LEVEL, True, _drawn((), lambda source, _: LEVEL * (1 + source.gauss(0, 0.001))))


def ceiling() -> Machine:
    """Independent samples that lose 0.4 % on average, exponentially, below a ceiling."""
    return Machine("ceiling above", LEVEL, True, _drawn((), lambda source, _: LEVEL * (1 - source.expovariate(250))))


def correlated() -> Machine:
    """Losses of 0.8 % in the median, of 4 % or more in one sample of twenty, that last from 10 ms to 3 s."""

    def rate(_: random.Random, values: list[float]) -> float:
        return LEVEL * (1 - min(0.6, 0.008 * math.exp(0.6 * values[0] + 0.5 * values[1] + 0.62 * values[2])))

    return Machine("correlated losses", LEVEL, True, _drawn((Wander(0.01), Wander(0.25), Wander(3.0)), rate))


def two_levels(up: float, down: float) -> Machine:
    """55 for `up` seconds on average, 51 for `down`, each with 0.1 %."""

    def rate(source: random.Random, values: list[float]) -> float:
        return (LEVEL if values[0] else 51.0) * (1 + source.gauss(0, 0.001))

    return Machine(f"two levels, {up:g} s and {down:g} s", LEVEL, True, _drawn((Switch(up, down),), rate))


def bursts() -> Machine:
    """Half to nine tenths of the rate for 30 ms, three times a second; 0.1 % otherwise."""

    def rate(source: random.Random, values: list[float]) -> float:
        return LEVEL * (1.0 if values[0] else source.uniform(0.5, 0.9)) * (1 + source.gauss(0, 0.001))

    return Machine("bursts", LEVEL, True, _drawn((Switch(0.3, 0.03),), rate))


def neighbour() -> Machine:
    """A neighbour on the host's memory: 34 to 41, and 53 for a fifth of the time."""

    def rate(source: random.Random, values: list[float]) -> float:
        return (53.0 if values[0] else 37.5 + 3.5 * math.tanh(values[1])) * (1 + source.gauss(0, 0.003))

    return Machine("a neighbour on the memory", LEVEL, True, _drawn((Switch(0.25, 1.0), Wander(0.3)), rate))


def competing_sum() -> Machine:
    """The sum of two directions: 3.5 % wide, half of it for tens of milliseconds and half for seconds."""
    middle, wide = 95.0, 0.025

    def rate(_: random.Random, values: list[float]) -> float:
        return middle * (1 + wide * (values[0] + values[1]))

    high = middle * (1 + 2.33 * wide * math.sqrt(2))
    return Machine("sum, 3.5 % wide", high, False, _drawn((Wander(0.05), Wander(2.0)), rate))


def simulated() -> list[Machine]:
    """All simulated machines."""
    levels = [two_levels(3, 1), two_levels(3, 3), two_levels(1, 3)]
    return [quiet(), ceiling(), correlated(), *levels, bursts(), neighbour(), competing_sum()]


def from_trace(trace: Trace) -> Machine | None:
    """A trace cut into runs that begin anywhere in it; None where it is too short, or of documents, which are runs already.

    A series without gaps gives visits at any spacing; of a collection of visits a run is consecutive ones, as far apart as they are.
    """
    level = quantile(sorted(trace.everything()), 0.99)
    times, rates = trace.times, trace.samples
    visits = [samples for _, samples in trace.visits]

    def cut_series(source: random.Random, count: int, span: float, samples: int) -> list[list[float]]:
        each = samples * SAMPLE + _pause(count, span, samples)
        begin = source.uniform(times[0], times[-1] - each * count - samples * SAMPLE)
        starts = (bisect_left(times, begin + i * each) for i in range(count))
        return [list(rates[at : at + samples]) for at in starts]

    def cut_visits(source: random.Random, count: int, _: float, samples: int) -> list[list[float]]:
        at = source.randrange(len(visits) - count + 1)
        return [visit[:samples] for visit in visits[at : at + count]]

    if trace.samples:
        return Machine(trace.name, level, False, cut_series) if times[-1] - times[0] > 17 else None
    if trace.runs or len(visits) < 20:
        return None
    spacing = (trace.visits[-1][0] - trace.visits[0][0]) / (len(visits) - 1)
    return Machine(trace.name, level, False, cut_visits, spacing)
