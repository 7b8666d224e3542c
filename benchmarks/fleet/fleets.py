"""A fleet's figures over its nights, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_nights import BETWEEN, NOISE, PATHS

from .columns import columns
from .noise import Table

#: The part of the nights on which a shared host has a neighbour that streams through its memory.
NEIGHBOURS = 0.01


@dataclass(frozen=True)
class Fleet:
    """``values``: the figures of healthy nodes, nodes × nights × columns, parts of the nominal ones; ``medians`` likewise, of the
    samples; ``levels``: what each cell had that night, nodes × nights × cells; ``neighbour``: nodes × nights."""

    host: str
    values: np.ndarray
    medians: np.ndarray
    levels: np.ndarray
    neighbour: np.ndarray
    tables: Mapping[str, Table]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Nodes, nights, columns."""
        nodes, nights, count = self.values.shape
        return nodes, nights, count

    def again(self, at: tuple[np.ndarray, np.ndarray, np.ndarray], source: np.random.Generator) -> np.ndarray:
        """Another look at the figures of these (node, night, column), of the same night, healthy."""
        node, night, column = at
        cells = np.array([each.cell for each in columns()])
        found = self.levels[node, night, cells[column]]
        for number, each in enumerate(columns()):
            own = column == number
            found[own] *= drawn(self.tables[each.path.kind], each.share, (int(own.sum()),), source)[0]
        return found


def drawn(
    table: Table, share: bool, shape: tuple[int, ...], source: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The figure of runs drawn from a table, and their median."""
    at = source.integers(len(table.plateau), size=shape)
    return (table.median[at], table.median[at]) if share else (table.plateau[at], table.median[at])


def nodes_of(count: int, spread: str, source: np.random.Generator) -> np.ndarray:
    """What healthy nodes have of each cell, nodes × cells. ``spread``: ``normal``, or ``ceiling``: as far, exponentially, below it."""
    shape = (count, len(PATHS))
    if spread == "ceiling":
        return 1 + BETWEEN * (1 - source.exponential(1.0, shape))
    return 1 + BETWEEN * source.standard_normal(shape)


def fleet(
    host: str, nodes: int, nights: int, tables: Mapping[str, Table], source: np.random.Generator, spread: str = "normal"
) -> Fleet:
    """A healthy fleet; on shared hosts some nights have a neighbour."""
    night = np.array([NOISE[host][path.kind].night for path in PATHS])
    levels = nodes_of(nodes, spread, source)[:, None] * (
        1 + night * source.standard_normal((nodes, nights, len(PATHS)))
    )
    neighbour = (source.random((nodes, nights)) < NEIGHBOURS) & (host == "shared")
    levels[neighbour] *= _beside_a_neighbour(int(neighbour.sum()), source)
    values = np.empty((nodes, nights, len(columns())))
    medians = np.empty_like(values)
    ratios: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for number, each in enumerate(columns()):
        # Plateau and median of a cell are of the same samples.
        if each.cell not in ratios:
            ratios[each.cell] = drawn(tables[each.path.kind], False, (nodes, nights), source)
        plateau, median = ratios[each.cell]
        values[:, :, number] = levels[:, :, each.cell] * (median if each.share else plateau)
        medians[:, :, number] = levels[:, :, each.cell] * median
    return Fleet(host, values, medians, levels, neighbour, tables)


def _beside_a_neighbour(count: int, source: np.random.Generator) -> np.ndarray:
    """What a neighbour that streams through the host's memory leaves of each cell, node-nights × cells."""
    left = np.ones((count, len(PATHS)))
    strength = source.uniform(0.05, 0.35, count)
    for number, path in enumerate(PATHS):
        if path.kind != "pair":
            h2d = "n0:g" in path.cell or path.kind == "stream"
            left[:, number] = 1 - strength * (1 if h2d else 0.05)
    return left
