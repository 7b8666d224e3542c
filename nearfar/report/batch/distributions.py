"""How a figure lies across nodes: collected node by node, so that a thousand nodes need no thousand documents at once."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from nearfar.base import NOT_JUDGED, statistics
from nearfar.verdict import JudgedMetric, Verdict


@dataclass
class Distribution:
    """One figure of one check, or all that one row of references judges; ``values[i]`` is of ``owners[i]``, a position in
    the collection's nodes. ``lowest`` and ``highest`` are the bounds that were in force, ``below`` and ``above`` those beyond
    which it is DEGRADED, ``bad`` the positions of values that did not pass."""

    check: str
    name: str
    unit: str
    row: str
    values: array[float] = field(default_factory=lambda: array("d"))
    owners: array[int] = field(default_factory=lambda: array("l"))
    bad: list[int] = field(default_factory=list)
    lowest: set[float] = field(default_factory=set)
    highest: set[float] = field(default_factory=set)
    below: set[float] = field(default_factory=set)
    above: set[float] = field(default_factory=set)

    def add(self, owner: int, metric: JudgedMetric, value: float) -> None:
        """Take over a figure of a verdict, and its ``value``."""
        if metric.verdict not in ("PASS", NOT_JUDGED):
            self.bad.append(len(self.values))
        self.values.append(value)
        self.owners.append(owner)
        if metric.reference is not None:
            bounds = {
                "lowest": metric.reference.lowest, "highest": metric.reference.highest,
                "below": metric.degraded_below, "above": metric.degraded_above,
            }  # fmt: skip
            for name, bound in bounds.items():
                if bound is not None:
                    getattr(self, name).add(bound)

    def join(self, other: Distribution) -> None:
        """Take over another's values."""
        self.bad += [len(self.values) + position for position in other.bad]
        self.values += other.values
        self.owners += other.owners
        self.lowest |= other.lowest
        self.highest |= other.highest
        self.below |= other.below
        self.above |= other.above

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
        ends = [*self.values, *self.lowest, *self.highest]
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
        self._single: dict[tuple[str, str], Distribution] = {}

    def add(self, node: str, verdicts: Sequence[Verdict]) -> None:
        """Take over a node's verdicts. What is no finite number is left out: its check has said so."""
        owner = len(self.nodes)
        self.nodes.append(node)
        for verdict in verdicts:
            for metric in verdict.metrics:
                if metric.value is not None and math.isfinite(metric.value):
                    self._of(verdict.check, metric).add(owner, metric, metric.value)

    def _of(self, check: str, metric: JudgedMetric) -> Distribution:
        key = check, metric.name
        found = self._single.get(key)
        if found is None:
            found = self._single[key] = Distribution(check, metric.name, metric.unit, metric.rows[-1])
        return found

    def single(self, check: str) -> list[Distribution]:
        """A check's figures one by one: those that did not pass somewhere first, then as they were measured."""
        return _worst_first(one for (of, _), one in self._single.items() if of == check)

    def pooled(self, check: str) -> list[Distribution]:
        """A check's figures, those that one row of references judges together."""
        rows: dict[str, Distribution] = {}
        for (of, _), one in self._single.items():
            if of == check:
                rows.setdefault(one.row, Distribution(check, one.row, one.unit, one.row)).join(one)
        return _worst_first(rows.values())


def _worst_first(found: Iterable[Distribution]) -> list[Distribution]:
    return sorted(found, key=lambda one: -len(one.bad))
