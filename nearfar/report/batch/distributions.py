"""How a figure lies across nodes: collected node by node, so that a thousand nodes need no thousand documents at once."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from nearfar.base import NOT_JUDGED, statistics
from nearfar.verdict import JudgedMetric, Verdict

#: The places of the lowest and the highest good value in bounds, and of those below and above which it is DEGRADED.
LOWEST, HIGHEST, BELOW, ABOVE = range(4)


@dataclass
class Distribution:
    """One figure of a check, or all that one row of references judges; ``values[i]`` is of ``owners[i]``, a position in
    the collection's nodes. ``bounds`` were in force: the lowest and the highest good value, and those below and above which it is
    DEGRADED. ``bad``: the positions of values that did not pass."""

    name: str
    unit: str
    row: str
    values: array[float] = field(default_factory=lambda: array("d"))
    owners: array[int] = field(default_factory=lambda: array("l"))
    bad: list[int] = field(default_factory=list)
    bounds: set[tuple[float | None, ...]] = field(default_factory=set)

    def join(self, other: Distribution) -> None:
        """Take over another's values."""
        self.bad += [len(self.values) + position for position in other.bad]
        self.values += other.values
        self.owners += other.owners
        self.bounds |= other.bounds

    def bound(self, which: int) -> list[float]:
        """Those in force, the lowest first, by their place in ``bounds``."""
        return sorted({bound for bounds in self.bounds if (bound := bounds[which]) is not None})

    @cached_property
    def middle(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def nodes(self) -> int:
        """How many nodes have it."""
        return len(set(self.owners))

    @property
    def bad_owners(self) -> list[int]:
        """The nodes where it did not pass, each once."""
        return list(dict.fromkeys(self.owners[position] for position in self.bad))

    def extreme(self, lowest: bool) -> tuple[float, int]:
        """The lowest or highest value, and whose it is."""
        pick = min if lowest else max
        position = pick(range(len(self.values)), key=self.values.__getitem__)
        return self.values[position], self.owners[position]

    def histogram(self, bins: int) -> tuple[list[int], list[int], float, float]:
        """Counts in ``bins`` equal steps, of all values and of those that did not pass, and the ends: the lowest and the
        highest of values and bounds."""
        ends = [*self.values, *self.bound(LOWEST), *self.bound(HIGHEST)]
        low, high = min(ends), max(ends)
        width = (high - low) / bins

        def count(values: Iterable[float]) -> list[int]:
            counts = [0] * bins
            for value in values:
                counts[min(bins - 1, int((value - low) / width)) if width > 0 else bins // 2] += 1
            return counts

        return count(self.values), count(self.values[position] for position in self.bad), low, high


class Distributions:
    """The distributions of many nodes' figures."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        #: By check, then by figure.
        self._single: dict[str, dict[str, Distribution]] = {}

    def add(self, node: str, verdicts: Iterable[Verdict]) -> None:
        """Take over a node's verdicts."""
        self.add_figures(node, ((verdict.check, verdict.metrics) for verdict in verdicts))

    def add_figures(self, node: str, checks: Iterable[tuple[str, Iterable[JudgedMetric]]]) -> None:
        """Take over the figures of a node's checks. What is not a finite number is left out: its check has said so."""
        owner = len(self.nodes)
        self.nodes.append(node)
        for check, figures in checks:
            mine = self._single.setdefault(check, {})
            for figure in figures:
                value, reference = figure.value, figure.reference
                if value is None or not math.isfinite(value):
                    continue
                found = mine.get(figure.name)
                if found is None:
                    row = figure.rows[-1] if figure.rows else ""
                    found = mine[figure.name] = Distribution(figure.name, figure.unit, row)
                if figure.verdict not in ("PASS", NOT_JUDGED):
                    found.bad.append(len(found.values))
                found.values.append(value)
                found.owners.append(owner)
                least, most = (reference.lowest, reference.highest) if reference else (None, None)
                found.bounds.add((least, most, figure.degraded_below, figure.degraded_above))

    def single(self, check: str) -> list[Distribution]:
        """A check's figures one by one: those that did not pass somewhere first, then as they were measured."""
        return _worst_first(self._single.get(check, {}).values())

    def pooled(self, check: str) -> list[Distribution]:
        """A check's figures, those that one row of references judges together."""
        rows: dict[str, Distribution] = {}
        for one in self._single.get(check, {}).values():
            rows.setdefault(one.row, Distribution(one.row, one.unit, one.row)).join(one)
        return _worst_first(rows.values())


def _worst_first(found: Iterable[Distribution]) -> list[Distribution]:
    return sorted(found, key=lambda one: -len(one.bad))
