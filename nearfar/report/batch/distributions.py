"""How a figure lies across nodes: collected node by node, so that a thousand nodes need no thousand documents at once."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nearfar.base import NOT_JUDGED, statistics


@dataclass
class Distribution:
    """One figure of one check, or all that one row of references judges; ``values[i]`` is of ``owners[i]``, a position in
    the collection's nodes. ``lower`` and ``upper`` are the bounds that were in force, ``bad`` the positions of values that
    did not pass."""

    check: str
    name: str
    unit: str
    row: str
    values: array[float] = field(default_factory=lambda: array("d"))
    owners: array[int] = field(default_factory=lambda: array("l"))
    bad: list[int] = field(default_factory=list)
    lower: set[float] = field(default_factory=set)
    upper: set[float] = field(default_factory=set)

    def add(self, owner: int, metric: Mapping[str, Any]) -> None:
        """Take over a metric of ``verdict.json``."""
        reference = metric.get("reference") or {}
        if metric["verdict"] not in ("PASS", NOT_JUDGED):
            self.bad.append(len(self.values))
        self.values.append(metric["value"])
        self.owners.append(owner)
        for bounds, bound in ((self.lower, reference.get("lower")), (self.upper, reference.get("upper"))):
            if bound is not None:
                bounds.add(bound)

    def join(self, other: Distribution) -> None:
        """Take over another's values."""
        self.bad += [len(self.values) + position for position in other.bad]
        self.values += other.values
        self.owners += other.owners
        self.lower |= other.lower
        self.upper |= other.upper

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
        ends = [*self.values, *self.lower, *self.upper]
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

    def add(self, node: str, verdicts: Sequence[Mapping[str, Any]]) -> None:
        """Take over a node's ``verdict.json`` files. What is no finite number is left out: its check has said so."""
        owner = len(self.nodes)
        self.nodes.append(node)
        for verdict in verdicts:
            for metric in verdict["metrics"]:
                if math.isfinite(metric["value"]):
                    self._of(str(verdict["check"]), metric).add(owner, metric)

    def _of(self, check: str, metric: Mapping[str, Any]) -> Distribution:
        key = check, metric["name"]
        found = self._single.get(key)
        if found is None:
            row = (metric.get("rows") or [metric["name"]])[-1]
            found = self._single[key] = Distribution(check, metric["name"], metric["unit"], row)
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
