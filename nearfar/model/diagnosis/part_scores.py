"""How well one part, degraded by a factor, explains figures."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from . import thresholds
from .responses import COARSE, STEP, STEPS, Responses, bucket


@dataclass(frozen=True)
class _Line:
    """A part's response between two steps: where it begins (``here``) and how far it goes (``slopes``), both times the
    figures' weights; and their weighted products ``square`` (here²), ``both`` and ``steep`` (slopes²)."""

    here: array[float]
    slopes: array[float]
    square: float
    both: float
    steep: float


class PartScores:
    """Scores of single parts, each worked out once; ``noise`` has the variances of each part's figures without a misfit."""

    def __init__(self, responses: Responses, tolerant: bool) -> None:
        self.responses = responses
        self.tolerant = tolerant
        self.noise = [[responses.sigmas[i] ** 2 for i in figures] for figures in responses.figures]
        self._kernels: dict[tuple[int, int], tuple[list[float], float]] = {}
        self._lines: dict[tuple[int, int, int], _Line] = {}

    def minimum(self, y: Sequence[float], part: int, limit: float = math.inf) -> tuple[float, float]:
        """The least score of a part over all factors, and the step (not whole) where it lies.

        Where even the coarsest look finds none below ``limit``, that one.
        """
        low, high, width = 0, STEPS, COARSE
        best = (math.inf, 0.0)
        while True:
            for step in range(low, high, width):
                score, t = self._segment(y, part, step, width)
                if score < best[0]:
                    best = (score, step + t * width)
            if width == 1 or (width == COARSE and best[0] > limit):
                return best
            # Around the best, a whole segment of this width to either side.
            middle = int(best[1]) // width * width
            low, high, width = max(0, middle - width), min(STEPS, middle + 2 * width), width // 4
            best = (math.inf, 0.0)

    def _segment(self, y: Sequence[float], part: int, step: int, width: int) -> tuple[float, float]:
        """The least score between two steps of the grid, where responses are straight lines, and its place (0 to 1)."""
        line = self._lines.get((part, step, width))
        if line is None:
            line = self._lines[part, step, width] = self._line(part, step, width)
        weights, logs = self.kernel(part, step)
        along = sum(map(mul, y, line.slopes)) - line.both
        t = min(1.0, max(0.0, along / line.steep)) if line.steep > 0 else 0.0
        whole = sum(map(mul, map(mul, y, y), weights)) - 2 * sum(map(mul, y, line.here)) + line.square
        return whole - 2 * t * along + t * t * line.steep + logs, t

    def _line(self, part: int, step: int, width: int) -> _Line:
        here, there = self.responses.response(part, step), self.responses.response(part, step + width)
        weights, _ = self.kernel(part, step)
        slopes = [b - a for a, b in zip(here, there)]
        weighted = array("d", map(mul, slopes, weights))
        return _Line(
            here=array("d", map(mul, here, weights)),
            slopes=weighted,
            square=sum(map(mul, map(mul, here, here), weights)),
            both=sum(map(mul, here, weighted)),
            steep=sum(map(mul, slopes, weighted)),
        )

    def kernel(self, part: int, step: int) -> tuple[list[float], float]:
        """The weights of a part\'s figures at a step of the grid, and what their variances add to the score."""
        key = part, bucket(step)
        kernel = self._kernels.get(key)
        if kernel is None:
            variance = self.variance(part, key[1])
            logs = sum(math.log(v / n) for v, n in zip(variance, self.noise[part]))
            kernel = self._kernels[key] = [1 / v for v in variance], logs
        return kernel

    def variance(self, part: int, step: int) -> list[float]:
        """The variance of each of a part\'s figures with the part degraded by so many steps."""
        return self.responses.variance(part, step) if self.tolerant else self.noise[part]

    def interval(self, part: int, step: float) -> tuple[float, float]:
        """The factors (low, high) of an interval of 95 %, by the score's curvature at the best."""
        below = min(int(step), STEPS - 1)
        here, there = self.responses.response(part, below), self.responses.response(part, below + 1)
        weights, _ = self.kernel(part, below)
        steep = sum([(b - a) ** 2 * w for a, b, w in zip(here, there, weights)])
        return around(step, steep)


def around(step: float, steep: float) -> tuple[float, float]:
    """The factors (low, high) around a step whose score's half second derivative (a step) is ``steep``."""
    half = math.sqrt(thresholds.INTERVAL / steep) if steep > 0 else math.inf
    return math.exp(-STEP * (step + half)), math.exp(-STEP * max(0.0, step - half))
