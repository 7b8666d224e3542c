"""What a night's visits make of a path that has a level: tables of plateaus and medians, drawn once for each kind and host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_nights import AGREE, LEAST, MOST, NOISE, SAMPLES

#: Draws of a table.
DRAWS = 100_000


@dataclass(frozen=True)
class Table:
    """``plateau`` and ``median`` of equally likely runs, as parts of the level."""

    plateau: np.ndarray
    median: np.ndarray


def tables(host: str, source: np.random.Generator, draws: int = DRAWS) -> dict[str, Table]:
    """By kind of noise; ``host`` is ``own`` or ``shared``. Visits, samples and when they end are those of ``simulated_nights.Night``."""
    return {kind: _table(host, kind, source, draws) for kind in NOISE[host]}


def _table(host: str, kind: str, source: np.random.Generator, draws: int) -> Table:
    noise, lone = NOISE[host][kind], kind in ("h2d", "d2h")
    most = MOST if lone else 2 if kind == "pair" else 5
    levels = 1 - source.exponential(noise.visit, (draws, most, 1))
    samples = levels * (1 + noise.sample * source.standard_normal((draws, most, SAMPLES)))
    visits = _visits(samples) if lone else np.full(draws, most)
    plateau, median = np.empty(draws), np.empty(draws)
    for count in np.unique(visits):
        own = visits == count
        pooled = samples[own, :count].reshape(own.sum(), -1)
        plateau[own], median[own] = np.percentile(pooled, 90, axis=1), np.median(pooled, axis=1)
    return Table(plateau, median)


def _visits(samples: np.ndarray) -> np.ndarray:
    """How many visits each run makes: until ``LEAST`` reach the best."""
    draws, most, _ = samples.shape
    ordered = np.sort(samples, axis=2)
    best = np.maximum.accumulate(ordered[:, :, -1], axis=1)
    found = np.full(draws, most)
    for count in range(most, LEAST - 1, -1):
        reached = (ordered[:, :count, -2] >= best[:, count - 1, None] * (1 - AGREE)).sum(axis=1) >= LEAST
        found[reached] = count
    return found
