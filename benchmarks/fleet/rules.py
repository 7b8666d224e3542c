"""Where the study meets nearfar's own rules: the references that a tune proposes, as arrays.

Nothing else of the study knows how a reference is made or read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import judged_faults
from benchmarks.simulated_nights import NODE
from nearfar.verdict import references
from nearfar.verdict.references import FleetLevel, ReferenceFile

from .columns import columns, node_metrics
from .fleets import fleet
from .noise import Table
from .worlds import World

#: The software that changes, and its versions.
DRIVER, BEFORE, AFTER = "driver", "1", "2"


@dataclass(frozen=True)
class Limits:
    """Of each reference file, files × columns, parts of the nominal figures: the expected ``value``, below ``fail`` FAIL, below
    ``degraded`` DEGRADED; NaN where there is none. ``tuned``: whether the row is of the tune."""

    value: np.ndarray
    fail: np.ndarray
    degraded: np.ndarray
    tuned: np.ndarray

    def of(self, files: np.ndarray) -> Limits:
        """Those of the file of each node, nodes × columns."""
        return Limits(self.value[files], self.fail[files], self.degraded[files], self.tuned[files])


def pool(
    world: World, host: str, n: int, tables: Mapping[str, Table], source: np.random.Generator, left: np.ndarray
) -> np.ndarray:
    """The figures of ``n`` nodes that references are made from, nodes × runs × columns; ``left`` is what each has left of each column."""
    return fleet(host, n, judged_faults.RUNS, tables, source, world).values * left[:, None]


def file_of(figures: np.ndarray) -> ReferenceFile:
    """What a tune proposes from a ``pool``."""
    nominal, cells = np.array([each.nominal for each in columns()]), [each.path.cell for each in columns()]
    runs = [[dict(zip(cells, run)) for run in own] for own in (figures * nominal).tolist()]
    return judged_faults.reference_file(runs, {DRIVER: BEFORE})


def limits(files: Sequence[ReferenceFile], driver: str = BEFORE, levels: Sequence[FleetLevel] = ()) -> Limits:
    """The bounds of some files, as the judge resolves them for nodes with a ``driver``; ``levels`` are what the fleet has with it."""
    shape = (len(files), len(columns()))
    value, fail, degraded = (np.full(shape, np.nan) for _ in range(3))
    tuned = np.zeros(shape, dtype=bool)
    for row, file in enumerate(files):
        for check, metrics in node_metrics().items():
            resolved = references.resolve(metrics, check, [file], NODE, stamp={DRIVER: driver}, levels=levels)
            for number, each in enumerate(columns()):
                found = resolved.get(each.figure) if each.path.check == check else None
                if found is None or found.origin == "siblings":
                    continue
                value[row, number] = found.value / each.nominal
                fail[row, number] = np.nan if found.lowest is None else found.lowest / each.nominal
                if found.degraded_below is not None:
                    degraded[row, number] = found.degraded_below / each.nominal
                tuned[row, number] = found.origin == "tuned"
    return Limits(value, fail, degraded, tuned)
