"""The figures of a node as columns of an array.

A column is the plateau of a cell, or what one of its flows had in the median; the flows of a cell have one column, because the
simulated documents share a sum evenly among them.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache

from benchmarks.simulated_nights import CHECKS, PATHS, Night, Path, figures, levels
from nearfar.measurement import Metric
from nearfar.verdict import references


@dataclass(frozen=True)
class Column:
    """``cell`` is the number of its path in ``PATHS``; ``share``: one flow's median instead of the plateau; ``figures``: the names
    of the figures that it stands for; ``row``: the row of references that speaks of the first of them."""

    cell: int
    share: bool
    figures: tuple[str, ...]
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
        return self.path.rate / len(self.path.cell.split("+")) if self.share else self.path.rate


@cache
def node_metrics() -> dict[str, tuple[Metric, ...]]:
    """The rates of a node by check, as a healthy one has them."""
    source = random.Random(0)
    night = Night(levels(source), "own", source)
    return {check: tuple(m for m in figures(check, night.document(check)) if m.unit == "GB/s") for check in CHECKS}


@cache
def columns() -> tuple[Column, ...]:
    """Of each cell the plateau, and the share of its flows where it has several."""
    cells = {path.cell: number for number, path in enumerate(PATHS)}
    found: dict[tuple[int, bool], list[Metric]] = {}
    for metrics in node_metrics().values():
        for metric in metrics:
            found.setdefault((cells[str(metric.cell)], metric.flow is not None), []).append(metric)
    return tuple(
        Column(cell, share, tuple(m.name for m in own), (PATHS[cell].check, references.row_keys(own[0])[-1]))
        for (cell, share), own in sorted(found.items())
    )
