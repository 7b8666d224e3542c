"""Simpler rules on the same figures: FAIL below a limit, on one look, with no second bound and no past."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .columns import columns

Rule = Callable[[np.ndarray], float]


def _mean_of_the_near(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation when what lies beyond two of them is left out, until nothing does."""
    while True:
        mean, deviation = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
        near = values[abs(values - mean) <= 2 * deviation] if deviation else values
        if len(near) == len(values):
            return mean, deviation
        values = near


def _iterated(values: np.ndarray) -> float:
    mean, deviation = _mean_of_the_near(values)
    return mean - 3 * deviation


def _one_sigma(values: np.ndarray) -> float:
    mean, deviation = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return min(mean - deviation, 0.9 * mean)


COMPARATORS: dict[str, Rule] = {
    "fixed −5 %": lambda values: 0.95 * float(np.median(values)),
    "fixed −10 %": lambda values: 0.90 * float(np.median(values)),
    "iterated mean −3 σ": _iterated,
    "one σ, at least 10 %": _one_sigma,
}


def compared(rule: Rule, pools: Sequence[np.ndarray]) -> np.ndarray:
    """The limits of a rule for the pools of some files (nodes × runs × columns each), files × columns."""
    rows: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(columns()):
        rows.setdefault(each.row, []).append(number)
    found = np.empty((len(pools), len(columns())))
    for file, figures in enumerate(pools):
        for own in rows.values():
            found[file, own] = rule(figures[:, :, own].ravel())
    return found
