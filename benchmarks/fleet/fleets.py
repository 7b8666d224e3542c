"""A fleet's figures over its nights, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from . import worlds
from .columns import columns
from .noise import Table
from .worlds import World


@dataclass(frozen=True)
class Fleet:
    """``values``: the figures of healthy nodes, nodes × nights × columns, parts of the nominal ones; ``medians`` likewise, of the
    samples; ``levels``: what each cell had that night, nodes × nights × cells; ``neighbour``: which of nodes × nights had
    load that they did not see."""

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
            found[own] *= drawn(self.tables[each.path.kind], (int(own.sum()),), source)[0]
        return found


def drawn(table: Table, shape: tuple[int, ...], source: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The figure of runs drawn from a table, and their median."""
    at = source.integers(len(table.plateau), size=shape)
    return table.plateau[at], table.median[at]


def fleet(
    host: str, nodes: int, nights: int, tables: Mapping[str, Table], source: np.random.Generator, world: World
) -> Fleet:
    """A healthy fleet."""
    levels, loaded = worlds.levels(world, host, nodes, nights, source)
    values = np.empty((nodes, nights, len(columns())))
    medians = np.empty_like(values)
    for number, each in enumerate(columns()):
        left = levels[:, :, each.cell] * worlds.wild(world, (nodes, nights), source)
        plateau, median = drawn(tables[each.path.kind], (nodes, nights), source)
        values[:, :, number], medians[:, :, number] = left * plateau, left * median
    return Fleet(host, values, medians, levels, loaded, tables)
