"""What alike figures of a node lost together, taken out before each is compared with its history. Pure (docs/references.md).

A season, a boot, a driver or a neighbour slows all paths of a direction by the same part. No part of the node is to blame for that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.measurement import TIME_UNITS, AnyMetric, SubjectMetric
from nearfar.topology import Node
from nearfar.verdict.references import row_keys

from . import thresholds
from .baseline import Baseline


def link_groups(node: Node | None) -> dict[int, frozenset[int]]:
    """The GPUs that hang behind a common bridge, by each of them; one with a bridge of its own, or none, is alone."""
    gpus = () if node is None else node.gpus
    return {
        gpu.index: frozenset(o.index for o in gpus if o is gpu or not set(o.uplinks).isdisjoint(gpu.uplinks))
        for gpu in gpus
    }


def without(past: Mapping[str, Baseline], metrics: Sequence[AnyMetric], node: Node | None) -> dict[str, Baseline]:
    """The histories of figures, each without what its alike figures lost: on later nights, and as ``common`` on this one.

    A figure that has fewer than two alike ones, or whose alike ones lost more than is taken out, begins anew with each change of
    software: nothing tells what that did to it.
    """
    groups = link_groups(node)
    figures = [_Figure.of(metric, past[metric.name], groups) for metric in metrics if metric.name in past]
    freed: dict[str, Baseline] = {}
    for figure in figures:
        before, alike = figure.before, [other for other in figures if other.is_alike(figure)]
        now, times = _common(alike, None), figure.entry[1] in TIME_UNITS
        if now is not None and (now > 1 - thresholds.MOST_COMMON or not before.changed):
            kept = [_common(alike, night.day) or 1.0 for night in before.later]
            values = (night.value * part if times else night.value / part for night, part in zip(before.later, kept))
            later = tuple(night._replace(value=value) for night, value in zip(before.later, values))
            freed[figure.name] = replace(before, later=later, common=now)
        elif not before.changed:
            freed[figure.name] = before
        elif before.anew is not None:
            freed[figure.name] = before.anew
    return freed


@dataclass(frozen=True)
class _Figure:
    """What makes figures alike: the reference entry that speaks of both, and no part that both use."""

    name: str
    before: Baseline
    entry: tuple[str, str]
    parts: frozenset[object]
    #: What it has left of its baseline's median (of a time the inverse), by day; None: now. Days without a measurement are lacking.
    left: Mapping[str | None, float]

    @classmethod
    def of(cls, metric: AnyMetric, before: Baseline, groups: Mapping[int, frozenset[int]]) -> _Figure:
        """``groups`` are the GPUs behind a common bridge, by each of them."""
        own, flows = (metric.gpus, ()) if isinstance(metric, SubjectMetric) else (metric.cell.gpus, metric.cell.flows)
        memories = {str(flow.destination) for flow in flows if flow.kind == "stream"}
        parts = frozenset[object](gpu for index in own for gpu in groups.get(index, [index])) | memories
        middle, times = before.median, metric.unit in TIME_UNITS
        values = [(None, metric.value), *((night.day, night.value) for night in before.later)]
        known = ((day, value) for day, value in values if middle > 0 and 0 < value < math.inf)
        left = {day: middle / value if times else value / middle for day, value in known}
        return cls(metric.name, before, (row_keys(metric)[-1], metric.unit), parts, left)

    def is_alike(self, other: _Figure) -> bool:
        """Whether its change tells of the other's: it has no part in common with it, and a baseline of the same time (that of a new board
        is younger)."""
        known = len(self.before.values) >= thresholds.FEWEST_NIGHTS
        apart = bool(self.parts) and self.parts.isdisjoint(other.parts)
        older, younger = sorted((self.before, other.before), key=lambda each: each.since)
        reaches = not older.later or younger.since <= older.later[0].day
        return known and apart and self.entry == other.entry and reaches


def _common(alike: Sequence[_Figure], day: str | None) -> float | None:
    """What all of them have left at least of their baselines, 1 where one of them lost nothing: what one lost by itself is not taken
    out, nor more than ``MOST_COMMON``. None of fewer than two that have no part in common."""
    there = [each for each in alike if day in each.left]
    if not any(one.parts.isdisjoint(other.parts) for one in there for other in there):
        return None
    return min(1.0, max(1 - thresholds.MOST_COMMON, *(each.left[day] for each in there)))
