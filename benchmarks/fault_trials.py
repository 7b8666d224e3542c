"""Simulated faults: what the search makes of them. The tests run a few, ``benchmarks/localisation.py`` thousands."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.telling_cells import telling_cells
from nearfar.model.diagnosis.common_change import separate
from nearfar.model.diagnosis.parts import Part, parts_of
from nearfar.model.diagnosis.responses import Responses, log_ratios
from nearfar.model.diagnosis.search import Search
from nearfar.model.prediction import NodeType

#: A fault is separable where no other set of parts comes nearer than this many standard deviations of the noise.
SEPARABLE = 6.0
#: The bands of factors.
BANDS = ((0.3, 0.6), (0.6, 0.8), (0.8, 0.95))


def kind_of(part: Part) -> str:
    """``link``, ``direction`` (one of any link's), ``memory``, ``package link``, ``switch uplink`` or ``peer link``."""
    patterns = {
        r"g\d+\.link": "link",
        r"g\d+\.(h2d|d2h|out|in)|switch:.*\.(up|down)|p\d+-p\d+": "direction",
        r"n\d+\.memory": "memory",
        r"p\d+-p\d+\.link": "package link",
        r"switch:.*": "switch uplink",
    }
    return next((kind for pattern, kind in patterns.items() if re.fullmatch(pattern, part.name)), "peer link")


def completed(node_type: NodeType, values: Mapping[str, float]) -> NodeType:
    """The node type with assumed values by capacity, those that hold for several under a pattern (``g*.both``)."""
    capacities = dict(node_type.capacities)
    for pattern, value in values.items():
        expression = re.escape(pattern).replace(r"\*", r".+")
        for name, capacity in capacities.items():
            if re.fullmatch(expression, name):
                capacities[name] = replace(capacity, value=value, source="assumed")
    return replace(node_type, capacities=capacities)


@dataclass(frozen=True)
class Machine:
    """A real node of the type: its capacities, how fast its flows rise, its healthy rates."""

    values: Mapping[str, float]
    speeds: Sequence[Sequence[float]]
    healthy: Sequence[Sequence[float]]


@dataclass(frozen=True)
class TrialResult:
    """One trial. ``separable`` by the noise alone; ``named``: the very parts, with no rival; ``covered``: among the
    rivals at least; ``added``: a healthy part was blamed."""

    separable: bool
    named: bool
    covered: bool
    added: bool


class Trials:
    """Faults of one node type. ``noise`` is the standard deviation of a rate's logarithm."""

    def __init__(self, node_type: NodeType, noise: float = 0.005, seed: int = 0) -> None:
        self.node_type = node_type
        self.noise = noise
        self.responses = Responses(node_type, telling_cells(node_type.node), parts_of(node_type), sigma=noise)
        self.parts = self.responses.parts
        self.search = Search(self.responses)
        self._exact = Search(self.responses, tolerant=False)
        self.random = random.Random(f"{seed} {node_type.name}")

    def machine(self, misfit: float = 0.0, sharing: float = 0.0) -> Machine:
        """A node whose capacities and shares differ that much from the model's."""
        r = self.responses
        values = {name: value * math.exp(self.random.gauss(0.0, misfit)) for name, value in r.values.items()}
        speeds = [[1 + self.random.uniform(-sharing, sharing) for _ in cell.flows] for cell in r.cells]
        healthy = [cell.rates(values, speed) for cell, speed in zip(r.cells, speeds)]
        return Machine(values, speeds, healthy)

    def two_parts(self) -> tuple[int, int]:
        """Two parts, by place, that have no capacity in common and show in some cell."""
        places = [place for place, figures in enumerate(self.responses.figures) if figures]
        while True:
            a, b = self.random.sample(places, 2)
            if not set(self.parts[a].capacities) & set(self.parts[b].capacities):
                return a, b

    def observe(self, machine: Machine, factors: Mapping[int, float]) -> list[float]:
        """Noisy figures of the machine with parts (by place) degraded, beside its healthy ones."""
        r = self.responses
        values = r.degraded(factors, machine.values)
        touched = {i for part in factors for i in r.touched[part]}
        return self._figures(
            machine,
            [
                cell.rates(values, machine.speeds[i]) if i in touched else machine.healthy[i]
                for i, cell in enumerate(r.cells)
            ],
        )

    def _figures(self, machine: Machine, rates: Sequence[Sequence[float]]) -> list[float]:
        """Noisy figures of rates of all cells, beside the machine's healthy ones."""
        logs: list[float] = []
        for flows, healthy in zip(rates, machine.healthy):
            noisy = [rate * math.exp(self.random.gauss(0.0, self.noise)) for rate in flows]
            logs += log_ratios(noisy, healthy)
        return logs

    def separable(self, factors: Mapping[int, float]) -> bool:
        """Whether the fault's noiseless figures are 6 σ from healthy and from every other set of as many parts."""
        r = self.responses
        limit = SEPARABLE**2
        exact = [0.0] * len(r.sigmas)
        values = r.degraded(factors)
        touched = sorted({i for part in factors for i in r.touched[part]})
        for figure, log in zip([figure for i in touched for figure in r.place[i]], r.logs(values, touched)):
            exact[figure] = log
        search = self._exact
        scores = search._cell_scores(exact)
        if sum(scores) < limit:
            return False
        singles = [fit for fit in search.singles(exact, scores, limit) if set(fit.parts) != set(factors)]
        if any(fit.score < limit for fit in singles):
            return False
        if len(factors) == 1:
            return True
        return not search.doubles(exact, scores, limit, skip=frozenset(factors), first=True)

    def outcome(self, machine: Machine, factors: Mapping[int, float]) -> TrialResult:
        """One trial; a fault that is not separable is not diagnosed."""
        separable = self.separable(factors)
        if not separable:
            return TrialResult(False, False, False, False)
        separated = separate(self.search, self.observe(machine, factors))
        found, truth = separated.fits, set(factors)
        sets = [set(fit.parts) for fit in (found.best, *found.rivals)]
        return TrialResult(
            separable=True,
            named=sets == [truth] and not separated.common,
            covered=truth in sets,
            added=any(self._healthy_part(part, truth) for part in found.best.parts),
        )

    def false_alarm(self, machine: Machine) -> bool:
        """Whether a healthy node's noise is taken for a fault, or for what a direction lost."""
        separated = separate(self.search, self.observe(machine, {}))
        return bool(separated.fits.best.parts or separated.common)

    def common(self, machine: Machine, direction: str, factor: float) -> tuple[bool, bool]:
        """Of a healthy node whose host links all have a part of one direction: whether a part is blamed, and whether that direction alone
        is found."""
        slowed = {
            name: v * factor if re.fullmatch(rf"g\d+\.{direction}", name) else v for name, v in machine.values.items()
        }
        rates = [cell.rates(slowed, speeds) for cell, speeds in zip(self.responses.cells, machine.speeds)]
        separated = separate(self.search, self._figures(machine, rates))
        return bool(separated.fits.best.parts), set(separated.common) == {direction}

    def _healthy_part(self, part: int, truth: set[int]) -> bool:
        """Whether a blamed part holds a capacity that none of the degraded ones does."""
        broken = {name for other in truth for name in self.parts[other].capacities}
        return not set(self.parts[part].capacities) & broken


def wilson(successes: float, trials: float, z: float = 1.645) -> tuple[float, float]:
    """Wilson's score interval of a proportion; ``z`` = 1.645 gives one-sided bounds of 95 %."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    scale = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / scale
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)
