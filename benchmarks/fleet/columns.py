"""The figures of a node as columns of an array.

A column is the plateau of a cell: of several flows the sum is judged.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache

from benchmarks.simulated_nights import CHECKS, PATHS, Night, Path, judged_rates, levels
from nearfar.measurement import Metric
from nearfar.verdict import references


@dataclass(frozen=True)
class Column:
    """``cell`` is the number of its path in ``PATHS``; ``figure``: its name; ``row``: the row of references that speaks of it."""

    cell: int
    figure: str
    row: tuple[str, str]

    @property
    def path(self) -> Path:
        """The cell, its check and its kind of noise."""
        return PATHS[self.cell]

    @property
    def lone(self) -> bool:
        """Whether it is a copy with nothing beside it."""
        return self.path.kind in ("h2d", "d2h") or (self.path.kind == "pair" and "+" not in self.path.cell)

    @property
    def gpus(self) -> frozenset[str]:
        """The GPUs that take part."""
        return frozenset(re.findall(r"g\d+", self.path.cell))

    @property
    def nominal(self) -> float:
        """What a healthy node of the type has, GB/s."""
        return self.path.rate


@cache
def node_metrics() -> dict[str, tuple[Metric, ...]]:
    """The rates of a node that are judged by check, as a healthy one has them."""
    source = random.Random(0)
    night = Night(levels(source), "own", source)
    return {check: tuple(judged_rates(check, night.document(check))) for check in CHECKS}


@cache
def columns() -> tuple[Column, ...]:
    """One a cell, in their order."""
    rates = {str(metric.cell): metric for metrics in node_metrics().values() for metric in metrics}
    return tuple(
        Column(number, rates[path.cell].name, (path.check, references.row_keys(rates[path.cell])[-1]))
        for number, path in enumerate(PATHS)
    )
