"""The smallest set of degraded parts that explains figures: none, one or two.

A set's score is the sum over all figures of (observed − predicted)² ÷ variance + ln variance, the variance in units of
the noise's; of a set that is right it is about the number of figures. A larger set must be better by ``NEEDED``.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from . import thresholds
from .part_scores import PartScores, around
from .responses import COARSE, STEP, STEPS, Responses

#: What a coarse look must gain, of what the best so far does and at least, for a part to be looked at closely.
_PROMISING = 0.6
_LEAST_GAIN = 6.0
_PROBES = (4, 8, 16, 32, 56, 96)


@dataclass(frozen=True)
class Fit:
    """A set of parts (by their place in the list) with factors and 95 % intervals, and its score."""

    parts: tuple[int, ...]
    factors: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    score: float


@dataclass(frozen=True)
class BestFits:
    """``best`` explains most with fewest parts; ``rivals`` as good with as many."""

    best: Fit
    rivals: tuple[Fit, ...]


class Search:
    """Looks for the parts behind figures, many times over the same ``responses``.

    ``tolerant`` takes the model's misfit into account; without it the score is the distance in standard deviations of
    the noise, squared.
    """

    def __init__(self, responses: Responses, tolerant: bool = True) -> None:
        self.responses = r = responses
        self.tolerant = tolerant
        self._weights = [1 / s**2 for s in r.sigmas]
        self._scores = PartScores(responses, tolerant)
        self._sets = [frozenset(touched) for touched in r.touched]
        self._lone = [[i for i in touched if len(r.cells[i].flows) == 1] for touched in r.touched]
        self._probes: dict[tuple[int, int], tuple[array[float], float]] = {}

    def find(self, observed: Sequence[float]) -> BestFits:
        """The smallest set that explains ``observed``, the log-ratios of all figures."""
        cell_scores = self._cell_scores(observed)
        healthy = Fit((), (), (), sum(cell_scores))
        singles = self.singles(observed, cell_scores, healthy.score + 1)
        best, level = healthy, [healthy]
        if singles and singles[0].score <= healthy.score - thresholds.NEEDED:
            best, level = singles[0], singles
        if best.parts and self._something_left(observed, best):
            doubles = self.doubles(observed, cell_scores, best.score - thresholds.NEEDED)
            if doubles:
                best, level = doubles[0], doubles
        rivals = tuple(fit for fit in level if fit is not best and fit.score <= best.score + thresholds.APART)
        return BestFits(best, rivals)

    def singles(self, observed: Sequence[float], cell_scores: Sequence[float], limit: float) -> list[Fit]:
        """The fits of one part below the score ``limit``, or near the best; best first."""
        r = self.responses
        whole = sum(cell_scores)
        bounds = sorted((whole - sum(cell_scores[i] for i in r.touched[p]), p) for p in range(len(r.parts)))
        fits: list[Fit] = []
        lowest = limit
        for bound, part in bounds:
            if bound < lowest + thresholds.APART and r.figures[part]:
                fit = self._single(observed, bound, part, _PROMISING * (whole - lowest) + _LEAST_GAIN)
                if fit is not None and fit.factors[0] <= thresholds.SLIGHT and fit.score < lowest + thresholds.APART:
                    fits.append(fit)
                    lowest = min(lowest, fit.score)
        return sorted((fit for fit in fits if fit.score < lowest + thresholds.APART), key=lambda fit: fit.score)

    def doubles(
        self,
        observed: Sequence[float],
        cell_scores: Sequence[float],
        limit: float,
        skip: frozenset[int] = frozenset(),
        first: bool = False,
    ) -> list[Fit]:
        """The fits of two parts below the score ``limit``, best first; ``skip`` is a pair to leave out.

        ``first``: any one of them is enough.
        """
        r = self.responses
        whole = sum(cell_scores)
        lone = [self._lone_fit(observed, part) for part in range(len(r.parts))]
        waiting: list[tuple[float, int, int]] = []
        for a in range(len(r.parts)):
            if not r.figures[a]:
                continue
            for b in range(a + 1, len(r.parts)):
                if not r.figures[b] or self._nested(a, b) or {a, b} == skip:
                    continue
                union = self._sets[a] | self._sets[b]
                bound = whole - sum([cell_scores[i] for i in union])
                if bound < limit:
                    bound += self._lone_bound(observed, a, b, lone)
                    if bound < limit:
                        waiting.append((bound, a, b))
        fits: list[Fit] = []
        for bound, a, b in sorted(waiting):
            if bound > limit + thresholds.APART:
                break
            fit = self._double(observed, cell_scores, whole, a, b, lone)
            if max(fit.factors) > thresholds.SLIGHT:
                continue
            if fit.score < limit + (thresholds.APART if fits else 0):
                fits.append(fit)
                if first:
                    return fits
            limit = min(limit, fit.score)
        return sorted((fit for fit in fits if fit.score < limit + thresholds.APART), key=lambda fit: fit.score)

    def predicted(self, fit: Fit) -> list[float]:
        """The log-ratios of all figures with these parts degraded."""
        r = self.responses
        cells = sorted({i for part in fit.parts for i in r.touched[part]})
        ratios = [0.0] * len(r.sigmas)
        logs = r.logs(r.degraded(dict(zip(fit.parts, fit.factors))), cells)
        for figure, log in zip([figure for i in cells for figure in r.place[i]], logs):
            ratios[figure] = log
        return ratios

    def residuals(self, observed: Sequence[float], fit: Fit) -> list[float]:
        """What the fit leaves of each figure, in standard deviations."""
        r = self.responses
        variance = [s**2 for s in r.sigmas]
        for part, factor in zip(fit.parts, fit.factors):
            step = min(STEPS, int(-math.log(factor) / STEP)) if factor < 1 else 0
            for figure, with_misfit, noise in zip(
                r.figures[part], self._scores.variance(part, step), self._scores.noise[part]
            ):
                variance[figure] += with_misfit - noise
        return [(y - p) / math.sqrt(v) for y, p, v in zip(observed, self.predicted(fit), variance)]

    def _cell_scores(self, observed: Sequence[float]) -> list[float]:
        squares = [y * y * w for y, w in zip(observed, self._weights)]
        return [sum(squares[place.start : place.stop]) for place in self.responses.place]

    def _single(self, observed: Sequence[float], bound: float, part: int, gain: float) -> Fit | None:
        """The best fit of one part; ``None`` where even a coarse look gains less than ``gain`` over no fault."""
        y = [observed[i] for i in self.responses.figures[part]]
        limit = sum([a * a / n for a, n in zip(y, self._scores.noise[part])]) - gain
        score, step = self._scores.minimum(y, part, limit)
        if score > limit:
            return None
        return Fit((part,), (math.exp(-STEP * step),), (self._scores.interval(part, step),), bound + score)

    def _something_left(self, observed: Sequence[float], best: Fit) -> bool:
        """Whether some part takes much of what the best single one leaves."""
        r = self.responses
        left = [z * s for z, s in zip(self.residuals(observed, best), r.sigmas)]
        for part, figures in enumerate(r.figures):
            y = [left[i] for i in figures]
            for step in _PROBES:
                probe = self._probes.get((part, step))
                if probe is None:
                    response = r.response(part, step)
                    weighted = array("d", [b / n for b, n in zip(response, self._scores.noise[part])])
                    probe = self._probes[part, step] = weighted, sum(map(mul, response, weighted))
                if 2 * sum(map(mul, y, probe[0])) - probe[1] > thresholds.WORTH_A_SECOND:
                    return True
        return False

    def _nested(self, a: int, b: int) -> bool:
        """A part and one that it holds are no pair: the larger with the smaller degraded further is left out."""
        capacities, other_capacities = set(self.responses.parts[a].capacities), set(self.responses.parts[b].capacities)
        return capacities < other_capacities or other_capacities < capacities

    def _lone_fit(self, observed: Sequence[float], part: int) -> float:
        """The step at which the part explains best the lone flows that cross it; 0 where there are none."""
        figures = [self.responses.place[i][0] for i in self._lone[part]]
        return self._lone_minimum([observed[i] for i in figures], part, figures)[1]

    def _lone_minimum(self, y: Sequence[float], part: int, figures: Sequence[int]) -> tuple[float, float]:
        at = {figure: place for place, figure in enumerate(self.responses.figures[part])}
        places = [at[i] for i in figures]
        best = (math.inf, 0.0)
        low, high, width = 0, STEPS, COARSE
        while True:
            for step in range(low, high + 1, width):
                response = self.responses.response(part, min(step, STEPS))
                weights, _ = self._scores.kernel(part, min(step, STEPS - 1))
                score = sum([(a - response[i]) ** 2 * weights[i] for a, i in zip(y, places)])
                if score < best[0]:
                    best = (score, float(step))
            if width == 1 or not places:
                return (0.0, 0.0) if not places else best
            low, high = max(0, int(best[1]) - width), min(STEPS, int(best[1]) + width)
            width //= 4

    def _lone_bound(self, observed: Sequence[float], a: int, b: int, lone: Sequence[float]) -> float:
        """Roughly the least that lone flows of both parts leave unexplained, each alone; 0 where they share some."""
        if set(self._lone[a]) & set(self._lone[b]):
            return 0.0
        left = 0.0
        for part in (a, b):
            figures = [self.responses.place[i][0] for i in self._lone[part]]
            at = {figure: place for place, figure in enumerate(self.responses.figures[part])}
            response = self.responses.response(part, int(lone[part]))
            weights, _ = self._scores.kernel(part, min(int(lone[part]), STEPS - 1))
            # Half a step of the grid is forgiven.
            left += sum(max(0.0, abs(observed[i] - response[at[i]]) - STEP) ** 2 * weights[at[i]] for i in figures)
        return left

    def _double(
        self,
        observed: Sequence[float],
        cell_scores: Sequence[float],
        whole: float,
        a: int,
        b: int,
        lone: Sequence[float],
    ) -> Fit:
        r = self.responses
        union = sorted(self._sets[a] | self._sets[b])
        outside = whole - sum(cell_scores[i] for i in union)
        figures = [figure for i in union for figure in r.place[i]]
        y = [observed[i] for i in figures]
        best: tuple[float, float, float, list[float]] = (math.inf, 0.0, 0.0, [])
        starts = {(lone[a] or 8.0, lone[b] or 8.0), (self._alone(observed, a), self._alone(observed, b))}
        for x, z in sorted(starts):
            candidate = self._descend(y, figures, union, a, b, x, z)
            if candidate[0] < best[0]:
                best = candidate
        score, x, z, curvature = best
        intervals = tuple(around(step, steep) for step, steep in zip((x, z), curvature))
        return Fit((a, b), (math.exp(-STEP * x), math.exp(-STEP * z)), intervals, outside + score)

    def _alone(self, observed: Sequence[float], part: int) -> float:
        return self._scores.minimum([observed[i] for i in self.responses.figures[part]], part)[1]

    def _descend(
        self, y: Sequence[float], figures: Sequence[int], cells: Sequence[int], a: int, b: int, x: float, z: float
    ) -> tuple[float, float, float, list[float]]:
        """Gauss and Newton's steps from (x, z): score, both steps of the grid, and the curvature along each."""
        r = self.responses

        def logs(x: float, z: float) -> list[float]:
            return r.logs(r.degraded({a: math.exp(-STEP * x), b: math.exp(-STEP * z)}), cells)

        def score(left: Sequence[float]) -> float:
            return sum([d * d * w for d, w in zip(left, weights)]) + constant

        weights, constant = self._pair_kernel(figures, a, b, x, z)
        left = [p - q for p, q in zip(y, logs(x, z))]
        best = score(left)
        curvature = [0.0, 0.0]
        for _ in range(8):
            here = [p - q for p, q in zip(y, left)]
            along_x = [(p - q) / 0.5 for p, q in zip(logs(x + 0.5, z), here)]
            along_z = [(p - q) / 0.5 for p, q in zip(logs(x, z + 0.5), here)]
            xx = sum([s * s * w for s, w in zip(along_x, weights)])
            zz = sum([s * s * w for s, w in zip(along_z, weights)])
            xz = sum([s * t * w for s, t, w in zip(along_x, along_z, weights)])
            gx = sum([d * s * w for d, s, w in zip(left, along_x, weights)])
            gz = sum([d * s * w for d, s, w in zip(left, along_z, weights)])
            xx, zz = xx * 1.0001 + 1e-9, zz * 1.0001 + 1e-9
            curvature = [xx, zz]
            determinant = xx * zz - xz * xz
            dx, dz = (gx * zz - gz * xz) / determinant, (gz * xx - gx * xz) / determinant
            moved = False
            for scale in (1.0, 0.4, 0.1):
                nx = min(float(STEPS), max(0.0, x + scale * dx))
                nz = min(float(STEPS), max(0.0, z + scale * dz))
                trial = [p - q for p, q in zip(y, logs(nx, nz))]
                if score(trial) < best - 1e-3:
                    moved, gain = True, best - score(trial)
                    x, z, left = nx, nz, trial
                    weights, constant = self._pair_kernel(figures, a, b, x, z)
                    best = score(left)
                    break
            if not moved or gain < 0.05:
                break
        return best, x, z, curvature

    def _pair_kernel(self, figures: Sequence[int], a: int, b: int, x: float, z: float) -> tuple[list[float], float]:
        r = self.responses
        noise = {figure: r.sigmas[figure] ** 2 for figure in figures}
        variance = dict(noise)
        for part, step in ((a, x), (b, z)):
            for figure, v, n in zip(r.figures[part], self._scores.variance(part, int(step)), self._scores.noise[part]):
                variance[figure] += v - n
        values = list(variance.values())
        logs = sum(math.log(v / n) for v, n in zip(values, noise.values())) if self.tolerant else 0.0
        return [1 / v for v in values], logs
