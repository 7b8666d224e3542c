"""Shares of node-nights and of nodes, with bounds of 95 % (one-sided)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.fault_trials import wilson


@dataclass(frozen=True)
class Share:
    """``events`` among ``trials``, of which so many are ``independent`` of each other."""

    events: int
    trials: int
    independent: float

    @property
    def part(self) -> float:
        """Events a trial."""
        return self.events / self.trials if self.trials else 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Wilson's, for as many trials as are independent."""
        count = max(1, round(self.independent))
        return wilson(self.part * count, count) if self.trials else (0.0, 1.0)

    def most(self, per: float) -> str:
        """``0.42 (≤ 0.61)``, of ``per`` trials."""
        return f"{_amount(per * self.part)} (≤ {_amount(per * self.bounds[1])})" if self.trials else "none"

    def least(self) -> str:
        """``99.2 (≥ 98.1)``, per cent."""
        return f"{100 * self.part:.1f} (≥ {100 * self.bounds[0]:.1f})"

    @property
    def percent(self) -> str:
        """``99.2``."""
        return f"{100 * self.part:.1f}"


def _amount(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def of_nodes(happened: np.ndarray) -> Share:
    """Of nodes."""
    return Share(int(happened.sum()), len(happened), len(happened))


def of_nights(happened: np.ndarray, counted: np.ndarray) -> Share:
    """Of the node-nights that are ``counted``, nodes × nights. Nights of a node are alike: so many are independent as the variance of
    the nodes' own shares says; as many as there are nodes where nothing happened."""
    own, nights = (happened & counted).sum(axis=1), counted.sum(axis=1)
    events, trials = int(own.sum()), int(nights.sum())
    if not events:
        return Share(0, trials, float((nights > 0).sum()))
    part = events / trials
    variance = float(((own - part * nights) ** 2).sum()) / trials**2
    return Share(events, trials, min(trials, part * (1 - part) / variance if variance else trials))


def of_firsts(happened: np.ndarray, counted: np.ndarray) -> Share:
    """Of the node-nights that are ``counted``; of a node only the first counts, and the nights until then."""
    there = happened & counted
    before = np.cumsum(there, axis=1) - there == 0
    return Share(int(there.any(axis=1).sum()), int((counted & before).sum()), float((counted & before).sum()))


def together(shares: list[Share]) -> Share:
    """Of several groups; where nothing happened in some, as many are independent as trials there are to each in the others."""
    events, trials = sum(each.events for each in shares), sum(each.trials for each in shares)
    return Share(events, trials, sum(each.independent for each in shares))
