"""A node's own past over arrays, as ``nearfar.verdict.baseline`` has it and ``nearfar.history`` chooses the nights for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.verdict import baseline

from .columns import columns
from .judging import DEGRADED, PASS, Measured

#: The last nights beside the present one whose median is looked at.
_LAST = baseline.LAST - 1


@dataclass(frozen=True)
class Carried:
    """What the fleet's shift makes of the nights with other software, nodes × nights × columns each: the ``part`` by which figures
    changed (NaN: not known, so that there is no past to compare with) and the ``doubt`` about it."""

    part: np.ndarray
    doubt: np.ndarray


def with_past(seen: Measured, found: np.ndarray, carried: Carried | None = None) -> np.ndarray:
    """The words with DEGRADED for what passes by its reference and is worse than its own past."""
    nodes, nights, count = found.shape
    found = found.copy()
    # On a shared host what one of several flows gets is the moment's.
    compared = np.array([seen.host == "own" or not each.share for each in columns()])
    state = _State(nodes, count, baseline.EVIDENCE[seen.host])
    for night in range(nights):
        part = np.zeros((nodes, count)) if carried is None else carried.part[:, night]
        doubt = 0.0 if carried is None else np.nan_to_num(carried.doubt[:, night])
        known = np.isfinite(part)
        factor = np.where(known, 1 + part, 1.0)
        values, words = seen.values[:, night], found[:, night]
        sums = state.sums(values, factor, doubt)
        slow, once = state.slow(values, factor, doubt, sums), state.one_night(values, factor, doubt)
        worse = (slow | once) & compared & known
        passed = words == PASS
        words[worse & passed] = DEGRADED
        state.enter(values, sums, passed & ~worse, (passed | (words == DEGRADED)) & worse, known)
    return found


def _by_kind(values: dict[str, float]) -> np.ndarray:
    kinds = ["other" if each.path.kind == "stream" else "lone" if each.lone else "windowed" for each in columns()]
    return np.array([values[kind] for kind in kinds])


class _State:
    """The nights so far of each figure: its baseline, the sum since, the last nights. Arrays are nodes × columns."""

    def __init__(self, nodes: int, count: int, evidence: float) -> None:
        shape = (nodes, count)
        self.evidence = evidence
        self.floor, self.slack = _by_kind(baseline.FLOOR), _by_kind(baseline.SLACK)
        self.base = np.full((*shape, baseline.NIGHTS), np.nan)
        self.recent = np.full((*shape, _LAST), np.nan)
        self.held = np.zeros(shape, dtype=int)
        self.least = np.full(shape, np.inf)
        self.mean, self.sigma, self.total = np.ones(shape), np.ones(shape), np.zeros(shape)

    @property
    def whole(self) -> np.ndarray:
        """Whose baseline is."""
        return self.held == baseline.NIGHTS

    def sums(self, values: np.ndarray, factor: np.ndarray, doubt: np.ndarray | float) -> np.ndarray:
        """The cumulative sums with these values."""
        middle, sigma = self.mean * factor, self.sigma * factor
        allowed = baseline.ALLOWANCE + doubt * middle / sigma
        counted = np.clip((middle - values) / sigma, -baseline.MOST, baseline.MOST) - allowed
        return np.minimum(np.maximum(0.0, self.total + counted), baseline.HIGHEST * self.evidence)

    def slow(self, values: np.ndarray, factor: np.ndarray, doubt: np.ndarray | float, sums: np.ndarray) -> np.ndarray:
        """Where the sum is evidence, and the last nights still are."""
        beyond = self.whole & (sums > self.evidence)
        if beyond.any():
            middle, sigma = (self.mean * factor)[beyond], (self.sigma * factor)[beyond]
            last = np.nanmedian(np.column_stack([self.recent[beyond] * factor[beyond, None], values[beyond]]), axis=1)
            doubts = np.broadcast_to(doubt, beyond.shape)[beyond]
            beyond[beyond] = middle - last > (baseline.ALLOWANCE + doubts * middle / sigma) * sigma
        return beyond

    def one_night(self, values: np.ndarray, factor: np.ndarray, doubt: np.ndarray | float) -> np.ndarray:
        """Where one night is far below all of the baseline."""
        low = (self.held >= baseline.FEWEST) & (values < self.least * factor)
        if low.any():
            base = self.base[low] * factor[low, None]
            middle = np.nanmedian(base, axis=1)
            spread = 1.4826 * np.nanmedian(abs(base - middle[:, None]), axis=1)
            slack = np.broadcast_to(self.slack + doubt, low.shape)[low]
            low[low] = values[low] < middle - np.maximum(slack * middle, baseline.SPREADS * spread)
        return low

    def enter(
        self, values: np.ndarray, sums: np.ndarray, healthy: np.ndarray, worse: np.ndarray, known: np.ndarray
    ) -> None:
        """Keep the night: a healthy one in the baseline until that is whole, then it and one that was worse among those since."""
        since = self.whole & (healthy | worse)
        self.total = np.where(since & known, sums, self.total)
        self.recent[since] = np.column_stack([self.recent[since][:, 1:], values[since]])
        first = healthy & ~self.whole
        node, column = np.nonzero(first)
        self.base[node, column, self.held[first]] = values[first]
        self.least = np.where(first, np.minimum(self.least, values), self.least)
        self.held += first
        full = first & self.whole
        if full.any():
            floor = np.broadcast_to(self.floor, full.shape)[full]
            self.mean[full], self.sigma[full] = _level(self.base[full], floor)


def _level(values: np.ndarray, floor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``baseline.level`` of each row of ``values``."""
    middle = np.median(values, axis=1)
    spread = 1.4826 * np.median(abs(values - middle[:, None]), axis=1)
    reach = (3 * np.maximum(spread, floor * middle))[:, None]
    drawn = np.clip(values, middle[:, None] - reach, middle[:, None] + reach)
    n, mean = drawn.shape[1], drawn.mean(axis=1)
    off = drawn - mean[:, None]
    squares = np.maximum((off * off).sum(axis=1), 1e-30)
    alike = (off[:, :-1] * off[:, 1:]).sum(axis=1) / squares
    r = np.where(alike > 0, np.minimum(alike + 1 / n, baseline._MOST_ALIKE), 0.0)
    return mean, np.maximum(floor * mean, np.sqrt(squares / (n - 1) * (1 + r) / (1 - r)))
