"""One figure of one node over time: its values in order, their median with an interval, and a line that shows them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from nearfar.base import ORDER, statistics
from nearfar.measurement import SIZE_UNIT, TIME_UNITS
from nearfar.verdict import disturbances

from .lazy_polars import pl

#: Units in which less is better.
LESS_IS_BETTER = (*TIME_UNITS, SIZE_UNIT)
#: What each word of the column ``disturbance`` says.
DISTURBED = {
    "cpus": "other processes used the CPUs",
    "steal": "the hypervisor took CPU time",
    "gpu": "other processes used the GPU",
    disturbances.HOST: "unrelated paths were slow at once, as on a host that others use",
    disturbances.OWN_HOST: "unrelated paths were slow at once: the host's memory, a setting, or load from outside",
    disturbances.MEMORY_ERRORS: "the GPU's memory erred",
}
_LEVELS = "▁▂▃▄▅▆▇█"


class Point(NamedTuple):
    """One run. ``low`` and ``high`` are the interval of its median, None where there is none. ``intermittent``: measured again, it
    was within its bound most of the times. ``disturbance``: a key of ``DISTURBED``, None where nothing disturbed it."""

    started: datetime
    run: str
    value: float
    low: float | None
    high: float | None
    verdict: str
    epoch: int
    intermittent: bool = False
    disturbance: str | None = None

    @property
    def words(self) -> str:
        """The verdict, whether it was intermittent, and ``*`` where the measurement was disturbed."""
        return f"{self.verdict}{' intermittent' if self.intermittent else ''}{self.mark}"

    @property
    def mark(self) -> str:
        """``*`` of a measurement that was disturbed, else nothing."""
        return "" if self.disturbance is None else " *"


#: The columns of the history that series are made of; ``epoch`` is added when they are read.
COLUMNS = ("node", "check", "metric", "unit", *(name for name in Point._fields if name != "epoch"))


@dataclass(frozen=True)
class Series:
    """A figure of one node over its runs, the earliest first; never empty."""

    node: str
    check: str
    metric: str
    unit: str
    points: tuple[Point, ...]

    @property
    def values(self) -> list[float]:
        """The figures, in ``unit``."""
        return [point.value for point in self.points]

    @property
    def median(self) -> float:
        """The median over the runs."""
        return statistics.median(self.values)

    @property
    def interval(self) -> tuple[float, float]:
        """An interval of at least 95 % for the median; the extremes of fewer than six runs."""
        return statistics.median_interval(self.values) or (min(self.values), max(self.values))

    @property
    def intermittent(self) -> int:
        """In how many of the runs it was intermittent."""
        return sum(point.intermittent for point in self.points)

    @property
    def last(self) -> Point:
        """The latest run."""
        return self.points[-1]

    @property
    def badness(self) -> tuple[int, float]:
        """What sorts the worst first: the last verdict, then how far the last figure is on the bad side of the median."""
        rank = ORDER.index(self.last.verdict) if self.last.verdict in ORDER else 1
        over = self.last.value / self.median if self.median else 1.0
        return rank, -over if self.unit in LESS_IS_BETTER else over


def from_rows(rows: pl.DataFrame) -> list[Series]:
    """The series of rows that ``History.rows`` gave, in the order in which their figures first stand there."""
    series = []
    for (node, check, metric, unit), own in rows.group_by("node", "check", "metric", "unit", maintain_order=True):
        columns = own.with_columns(pl.col("intermittent").fill_null(False)).select(Point._fields).rows()
        series.append(Series(str(node), str(check), str(metric), str(unit), tuple(Point(*point) for point in columns)))
    return series


def worst_first(series: Iterable[Series]) -> list[Series]:
    """By their medians, of one figure on many nodes: the least rate, the longest time first."""
    return sorted(series, key=lambda s: -s.median if s.unit in LESS_IS_BETTER else s.median)


def sparkline(values: Sequence[float], least: float, most: float, width: int = 30) -> str:
    """Values as a line of blocks between ``least`` and ``most``; of more than ``width`` each block is the median of several."""
    if len(values) > width:
        edges = [round(i * len(values) / width) for i in range(width + 1)]
        values = [statistics.median(values[a:b]) for a, b in itertools.pairwise(edges)]
    span = most - least
    steps = len(_LEVELS) - 1
    return "".join(_LEVELS[round((value - least) / span * steps) if span > 0 else steps // 2] for value in values)
