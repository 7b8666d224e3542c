"""What all GPUs' host paths of one direction lost alike: it is taken out before parts are blamed for it.

A driver, a kernel, a setting or a neighbour on the host slows every path of a direction by the same few per cent. No part does, except
one that all paths share; then the search without it explains as much with that part alone, and nothing is taken out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median, median_high

from nearfar.base import Finding

from . import thresholds
from .messages import COMMON
from .responses import Responses
from .search import BestFits, Fit, Search

#: Capacities that flows of a direction cross, by how their names end; copies between GPUs without NVLink cross them too.
_CROSSED = {"h2d": (".h2d", ".peers_in", ".staged_in"), "d2h": (".d2h", ".peers_out", ".staged_out")}


@dataclass(frozen=True)
class Separated:
    """``fits`` of the parts behind what is left of the figures (``observed``), once what the directions in ``common`` have of
    healthy (0.97) on all ``gpus`` GPUs was taken out."""

    fits: BestFits
    observed: Sequence[float]
    common: Mapping[str, float]
    gpus: int

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One for each direction."""
        percents = {direction: round(100 * (factor - 1), 2) for direction, factor in self.common.items()}
        return tuple(
            COMMON[direction].finding(direction, percent=percent, gpus=self.gpus, change=f"−{-percent:.1f} %")
            for direction, percent in percents.items()
        )


def separate(search: Search, observed: Sequence[float]) -> Separated:
    """The parts that explain the figures, beside what whole directions lost alike. A direction costs as much as a part: it is taken out
    only where the parts explain less without that."""
    fits = search.find(observed)
    best = Separated(fits, observed, {}, 0)
    lowest = _penalised(fits, 0) - thresholds.APART
    changes, gpus = _changes(search.responses, observed)
    for count in range(1, len(changes) + 1):
        for directions in combinations(changes, count):
            common = {direction: changes[direction] for direction in directions}
            left = _without(search.responses, observed, common)
            fits = search.find(left)
            if _penalised(fits, count) < lowest and not _blames_shared(search.responses, fits.best, directions):
                lowest = _penalised(fits, count)
                best = Separated(fits, left, {name: math.exp(log) for name, log in common.items()}, gpus)
    return best


def _penalised(fits: BestFits, directions: int) -> float:
    return fits.best.score + thresholds.NEEDED * (len(fits.best.parts) + directions)


def _blames_shared(responses: Responses, fit: Fit, directions: Iterable[str]) -> bool:
    """Whether all paths of a direction cross a blamed part: that is the cause then, and what would be taken out is the model's misfit."""
    limited = _link_limited(responses)
    paths = [{at for at in limited if responses.cells[at].cell.flows[0].direction == each} for each in directions]
    return any(every <= set(responses.touched[part]) for every in paths for part in fit.parts)


def _changes(responses: Responses, observed: Sequence[float]) -> tuple[dict[str, float], int]:
    """By direction the logarithm of what the middle GPU lost, and how many GPUs there are. Of two in the middle it is the one that lost
    less: a slow memory, package link or GPU is no change of the direction."""
    paths: dict[str, dict[int, list[int]]] = {}
    for place in sorted(_link_limited(responses)):
        flow = responses.cells[place].cell.flows[0]
        paths.setdefault(flow.direction, {}).setdefault(flow.gpus[0], []).append(responses.place[place].start)
    changes = {}
    for direction, by_gpu in paths.items():
        middle = median_high(median_high(observed[at] for at in figures) for figures in by_gpu.values())
        alike = [at for figures in by_gpu.values() for at in figures if abs(observed[at] - middle) < thresholds.NEAR]
        change = median(observed[at] for at in alike)
        # By these paths alone: what flows in company get back would make up for noise.
        gain = sum((observed[at] ** 2 - (observed[at] - change) ** 2) / responses.sigmas[at] ** 2 for at in alike)
        if (
            len(by_gpu) >= thresholds.LEAST_GPUS
            and thresholds.LEAST_COMMON <= 1 - math.exp(middle) <= thresholds.MOST_COMMON
            and gain > thresholds.NEEDED
        ):
            changes[direction] = change
    return changes, max(map(len, paths.values()), default=0)


def _link_limited(responses: Responses) -> set[int]:
    """The cells of a lone host path that is as fast as any to its GPU: its link limits them, no far memory does."""
    lone = {
        place: cell.cell.flows[0]
        for place, cell in enumerate(responses.cells)
        if len(cell.flows) == 1 and cell.flows[0].kind == "host" and not cell.flows[0].options
    }
    best: dict[tuple[str, int], float] = {}
    for place, flow in lone.items():
        way = flow.direction, flow.gpus[0]
        best[way] = max(best.get(way, 0.0), responses.healthy[place][0])
    return {
        place for place, flow in lone.items()
        if responses.healthy[place][0] > (1 - thresholds.NEAR) * best[flow.direction, flow.gpus[0]]
    }  # fmt: skip


def _without(responses: Responses, observed: Sequence[float], common: Mapping[str, float]) -> list[float]:
    """The figures without what is common. Far paths, and flows in company, may be limited by what did not change: they get back what
    they lost together, at most that."""
    left, limited = list(observed), _link_limited(responses)
    for at, (cell, healthy, place) in enumerate(zip(responses.cells, responses.healthy, responses.place)):
        total, *shares = observed[place.start : place.stop]
        logs = [total + share for share in shares] or [total]
        before = list(logs)
        for direction, change in common.items():
            ends = _CROSSED[direction]
            crossing = {flow for name, flows in cell.weights.items() if name.endswith(ends) for flow, _ in flows}
            if not crossing:
                continue
            lost = _total(before, healthy, crossing)
            for flow in crossing:
                logs[flow] -= change if at in limited else min(0.0, max(change, lost))
        if logs != before:
            every = range(len(logs))
            total += _total(logs, healthy, every) - _total(before, healthy, every)
            left[place.start : place.stop] = [total, *(log - total for log in logs)] if shares else logs
    return left


def _total(logs: Sequence[float], healthy: Sequence[float], flows: Iterable[int]) -> float:
    """The logarithm of what some flows have together of healthy."""
    well = sum(healthy[flow] for flow in flows)
    return math.log(sum(healthy[flow] * math.exp(logs[flow]) for flow in flows) / well)
