"""How each part's degradation would show: the log-ratios of all figures, and how far a model's misfit moves them.

A lone flow has one figure, ln(rate ÷ healthy rate). A cell of several has one of its total, then one for each flow's
rate beside the total's: the two kinds have independent noise, and how flows share a full capacity moves only the
second.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from nearfar.cells import Cell
from nearfar.model.prediction import CompiledCell, NodeType

from . import thresholds
from .parts import Part, parts_seen

#: Factors are looked at on a grid: step ``i`` is the factor exp(−i × STEP); between steps responses are straight lines.
STEP = 0.015
STEPS = 192
#: Every so many steps a response's tolerance is computed.
COARSE = 16
#: How many machines around the model its tolerance is taken from.
_ENSEMBLE = 6
#: What a rate of zero counts as, beside the healthy one.
_LEAST = 1e-6


#: For each step the one whose tolerance it takes: finer near no fault, where bottlenecks that are close change places.
_STANDS_FOR = [
    3 if i < 4 else 6 if i < 8 else 12 if i < COARSE else i // COARSE * COARSE + COARSE // 2 for i in range(STEPS)
]


def bucket(step: int) -> int:
    """The step whose tolerance a step of the grid takes."""
    return _STANDS_FOR[step]


def log_ratios(rates: Sequence[float], healthy: Sequence[float]) -> list[float]:
    """The figures of one cell."""
    logs = [math.log(max(rate, _LEAST * well) / well) for rate, well in zip(rates, healthy)]
    if len(logs) == 1:
        return logs
    total = math.log(max(sum(rates), _LEAST * sum(healthy)) / sum(healthy))
    return [total, *[log - total for log in logs]]


def _measured(cell: CompiledCell) -> list[str]:
    """The capacities that a cell says something of: what both directions share (``g0.both``) only where both flow."""
    ways = {name.rpartition(".")[0] + ".both" for name in cell.capacities if name.endswith((".h2d", ".down"))}
    back = {name.rpartition(".")[0] + ".both" for name in cell.capacities if name.endswith((".d2h", ".up"))}
    return [name for name in cell.capacities if not name.endswith(".both") or name in ways & back]


class Responses:
    """The responses of a node type's parts in a set of cells.

    ``sigma`` is the standard deviation of a rate's logarithm; ``sigmas`` has those of cells that are known better, the
    total's first where there are several flows. ``misfit`` (of capacities, as a logarithm) and
    ``sharing`` (how unequally flows share, a part of 1) are how far the real node may be from the model: figures that
    depend on either are trusted less, the others not. Cells whose rates nobody can predict are left out (``left_out``), and
    of ``parts`` what no cell measures.
    """

    def __init__(
        self,
        node_type: NodeType,
        cells: Sequence[Cell],
        parts: Sequence[Part],
        sigma: float = thresholds.RUN_TO_RUN,
        misfit: float = thresholds.MISFIT,
        sharing: float = thresholds.SHARING,
        sigmas: Mapping[Cell, Sequence[float]] | None = None,
    ) -> None:
        self.sigma = sigma
        compiled = [CompiledCell(cell, node_type) for cell in dict.fromkeys(cells)]
        self.values = {
            name: capacity.value
            for cell in compiled
            for name, capacity in cell.capacities.items()
            if capacity.value is not None
        }
        rates = [cell.rates(self.values) for cell in compiled]
        self.cells = [cell for cell, flows in zip(compiled, rates) if all(0 < rate < math.inf for rate in flows)]
        self.left_out = [cell.cell for cell in compiled if cell not in self.cells]
        self.parts = parts_seen(parts, {name for cell in self.cells for name in _measured(cell)})
        self.healthy = [cell.rates(self.values) for cell in self.cells]
        self.place: list[range] = []
        self.sigmas: list[float] = []
        for cell, flows in zip(self.cells, self.healthy):
            begin = len(self.sigmas)
            if sigmas is not None and cell.cell in sigmas:
                self.sigmas += sigmas[cell.cell]
                self.place.append(range(begin, len(self.sigmas)))
                continue
            if len(flows) > 1:
                self.sigmas.append(sigma * math.hypot(*flows) / sum(flows))
            self.sigmas += [sigma] * len(flows)
            self.place.append(range(begin, len(self.sigmas)))
        self._scale = self._scales()
        self.touched = [
            tuple(i for i, cell in enumerate(self.cells) if any(name in cell.capacities for name in part.capacities))
            for part in self.parts
        ]
        self.figures = [[figure for i in touched for figure in self.place[i]] for touched in self.touched]
        self._responses: dict[tuple[int, int], list[float]] = {}
        self._variances: dict[tuple[int, int], list[float]] = {}
        self._ensemble = self._machines(misfit, sharing) if misfit > 0 or sharing > 0 else []

    def response(self, part: int, step: int) -> list[float]:
        """The log-ratios of ``figures[part]`` at a step of the grid."""
        response = self._responses.get((part, step))
        if response is None:
            values = self.degraded({part: math.exp(-STEP * step)})
            response = [
                log for i in self.touched[part] for log in log_ratios(self.cells[i].rates(values), self.healthy[i])
            ]
            self._responses[part, step] = response
        return response

    def variance(self, part: int, step: int) -> list[float]:
        """The variance of ``figures[part]`` around the response: of the noise, and of the model's misfit.

        It is the same for all steps with the same ``bucket``.
        """
        step = _STANDS_FOR[min(step, STEPS - 1)]
        variance = self._variances.get((part, step))
        if variance is None:
            factors = {part: math.exp(-STEP * step)}
            nominal = self.response(part, step)
            variance = [self.sigmas[figure] ** 2 for figure in self.figures[part]]
            for values, speeds, healthy in self._ensemble:
                other = self.degraded(factors, values)
                logs = [
                    log
                    for i in self.touched[part]
                    for log in log_ratios(self.cells[i].rates(other, speeds[i]), healthy[i])
                ]
                variance = [v + (a - b) ** 2 / len(self._ensemble) for v, a, b in zip(variance, logs, nominal)]
            self._variances[part, step] = variance
        return variance

    def degraded(self, factors: Mapping[int, float], values: Mapping[str, float] | None = None) -> dict[str, float]:
        """The capacities with parts multiplied by factors; an unknown one from the most that is asked of it."""
        degraded = dict(self.values if values is None else values)
        for part, factor in factors.items():
            for name in self.parts[part].capacities:
                if name in degraded or name in self._scale:
                    degraded[name] = degraded.get(name, self._scale.get(name, math.inf)) * factor
        return degraded

    def worth(self, part: int) -> dict[str, tuple[float, bool]]:
        """The part's capacities on a healthy node, GB/s, and whether that is known; else the most that cells ask."""
        names = self.parts[part].capacities
        return {
            **{name: (self._scale[name], False) for name in names if name in self._scale},
            **{name: (self.values[name], True) for name in names if name in self.values},
        }

    def logs(self, values: Mapping[str, float], cells: Sequence[int]) -> list[float]:
        """The figures of some cells with these capacities."""
        return [log for i in cells for log in log_ratios(self.cells[i].rates(values), self.healthy[i])]

    def _scales(self) -> dict[str, float]:
        """The most that the healthy node's cells ask of each unknown capacity, GB/s."""
        scale: dict[str, float] = {}
        for cell, rates in zip(self.cells, self.healthy):
            for name in cell.capacities:
                if name not in self.values:
                    scale[name] = max(scale.get(name, 0.0), cell.used(name, rates))
        return scale

    def _machines(
        self, misfit: float, sharing: float
    ) -> list[tuple[dict[str, float], list[list[float]], list[list[float]]]]:
        """Machines around the model: capacities, the flows' speeds, healthy rates; the same ones at every call."""
        generator = random.Random("machines around the model")
        machines = []
        for _ in range(_ENSEMBLE):
            values = {name: value * math.exp(generator.gauss(0.0, misfit)) for name, value in self.values.items()}
            speeds = [[1 + generator.uniform(-sharing, sharing) for _ in cell.flows] for cell in self.cells]
            healthy = [cell.rates(values, speed) for cell, speed in zip(self.cells, speeds)]
            machines.append((values, speeds, healthy))
        return machines
