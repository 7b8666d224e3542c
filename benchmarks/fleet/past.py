"""A node's own past over arrays, as ``nearfar.verdict.baseline`` has it and ``nearfar.history`` chooses the nights for it."""

from __future__ import annotations

from functools import cache

import numpy as np

from nearfar.verdict import thresholds

from .columns import columns
from .judging import DEGRADED, PASS, Measured


def with_past(seen: Measured, found: np.ndarray) -> np.ndarray:
    """The words with DEGRADED for what passes by its reference and is worse than its own past."""
    nodes, nights, count = found.shape
    found = found.copy()
    summed = np.array([len(each.gpus) < 2 or each.path.kind == "pair" for each in columns()])
    state = _State(nodes, count, thresholds.EVIDENCE[seen.host])
    for night in range(nights):
        words = found[:, night]
        values = seen.values[:, night] / state.common(seen.values[:, night])
        sums = state.sums(values)
        slow = state.whole & (sums > state.evidence) & summed
        worse = slow | state.one_night(values)
        passed = words == PASS
        words[worse & passed] = DEGRADED
        state.enter(seen.values[:, night], sums, passed & ~worse, (passed | (words == DEGRADED)) & worse)
    return found


@cache
def _alike() -> tuple[tuple[int, list[int]], ...]:
    """The columns that have alike ones, with these: of the same reference entry, with no GPU in common."""
    found = []
    for number, own in enumerate(columns()):
        alike = [
            at for at, each in enumerate(columns())
            if each.row == own.row and own.gpus and own.gpus.isdisjoint(each.gpus)
        ]  # fmt: skip
        if any(columns()[a].gpus.isdisjoint(columns()[b].gpus) for a in alike for b in alike):
            found.append((number, alike))
    return tuple(found)


def _by_kind(values: dict[str, float]) -> np.ndarray:
    kinds = ["other" if each.path.kind == "stream" else "lone" if each.lone else "windowed" for each in columns()]
    return np.array([values[kind] for kind in kinds])


class _State:
    """The nights so far of each figure: its baseline and the sum since. Arrays are nodes × columns."""

    def __init__(self, nodes: int, count: int, evidence: float) -> None:
        shape = (nodes, count)
        self.evidence = evidence
        self.floor, self.slack = _by_kind(thresholds.NIGHT_FLOOR), _by_kind(thresholds.ONE_NIGHT)
        self.base = np.full((*shape, thresholds.BASELINE_NIGHTS), np.nan)
        self.held = np.zeros(shape, dtype=int)
        self.least = np.full(shape, np.inf)
        self.median, self.level, self.sigma, self.total = (
            np.ones(shape), np.ones(shape), np.ones(shape), np.zeros(shape),
        )  # fmt: skip

    @property
    def whole(self) -> np.ndarray:
        """Whose baseline is."""
        return self.held == thresholds.BASELINE_NIGHTS

    def common(self, values: np.ndarray) -> np.ndarray:
        """What all alike figures have left at least."""
        known = self.held >= thresholds.FEWEST_NIGHTS
        middle = np.ones_like(values)
        middle[known] = np.nanmedian(self.base[known], axis=1)
        parts, found = values / middle, np.ones_like(values)
        for column, alike in _alike():
            most = np.where(known[:, alike].all(axis=1), parts[:, alike].max(axis=1), 1)
            found[:, column] = np.clip(most, 1 - thresholds.MOST_COMMON, 1)
        return found

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sums with these values."""
        off = (self.level - values) / self.sigma
        most = thresholds.ONE_NIGHT_COUNTS
        return np.minimum(np.maximum(0.0, self.total + np.clip(off, -most, most)), self.evidence + most)

    def one_night(self, values: np.ndarray) -> np.ndarray:
        """Where one night is far below all of the baseline."""
        low = (self.held >= thresholds.FEWEST_NIGHTS) & (values < self.least)
        if low.any():
            base = self.base[low]
            middle = np.nanmedian(base, axis=1)
            spread = 1.4826 * np.nanmedian(abs(base - middle[:, None]), axis=1)
            slack = np.broadcast_to(self.slack, low.shape)[low]
            low[low] = values[low] < middle - np.maximum(slack * middle, thresholds.ONE_NIGHT_SPREADS * spread)
        return low

    def enter(self, values: np.ndarray, sums: np.ndarray, healthy: np.ndarray, worse: np.ndarray) -> None:
        """Keep the night: a healthy one in the baseline until that is whole, then it and one that was worse among those since."""
        self.total = np.where(self.whole & (healthy | worse), sums, self.total)
        first = healthy & ~self.whole
        node, column = np.nonzero(first)
        self.base[node, column, self.held[first]] = values[first]
        self.least = np.where(first, np.minimum(self.least, values), self.least)
        self.held += first
        full = first & self.whole
        if full.any():
            base = self.base[full]
            middle = np.median(base, axis=1)
            spread = 1.4826 * np.median(abs(base - middle[:, None]), axis=1)
            sigma = np.maximum(spread, np.broadcast_to(self.floor, full.shape)[full] * middle)
            third = np.sort(base, axis=1)[:, thresholds.WORST_KNOWN - 1]
            self.level[full] = np.minimum(third, middle - thresholds.ALLOWANCE_PER_NIGHT * sigma)
            self.median[full], self.sigma[full] = middle, sigma
