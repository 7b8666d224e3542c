"""What alike figures of a node changed by together, taken out before each is held against its history. Pure (docs/method/judging.md).

A season, a boot, a driver or a neighbour slows all paths of a direction by the same part. No part of the node is to blame for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import Finding
from nearfar.cells import Cell
from nearfar.measurement import TIME_UNITS, AnyMetric, SubjectMetric
from nearfar.topology import Node
from nearfar.verdict.references import row_keys

from . import thresholds
from .baseline import Baseline
from .messages import COMMON_FALL


def link_groups(node: Node | None) -> dict[int, frozenset[int]]:
    """The GPUs that hang behind a common bridge, by each of them; one with a bridge of its own, or none, is alone."""
    gpus = () if node is None else node.gpus
    return {
        gpu.index: frozenset(o.index for o in gpus if o is gpu or not set(o.uplinks).isdisjoint(gpu.uplinks))
        for gpu in gpus
    }


def without(
    past: Mapping[str, Baseline], metrics: Sequence[AnyMetric], node: Node | None
) -> tuple[dict[str, Baseline], list[Finding]]:
    """The histories of figures, each without what its alike figures changed by: of later nights, and as ``common`` of this one. With a
    finding for each reference entry whose figures have all been worse for days.

    A figure that has fewer than two alike ones begins anew with each change of software: nothing tells what that did to it.
    """
    groups = link_groups(node)
    figures = [_Figure.of(metric, past[metric.name], groups) for metric in metrics if metric.name in past]
    found: dict[str, Baseline] = {}
    falls: dict[tuple[str, str], list[_Fall]] = {}
    for figure in figures:
        before = figure.before
        alike = [other for other in figures if other.is_alike(figure)]
        if len(alike) >= thresholds.FEWEST_ALIKE:
            factors = [_common(alike, night.day) for night in before.later]
            now = _common(alike, None)
            later = [night._replace(value=night.value / by) for night, by in zip(before.later, factors)]
            found[figure.name] = replace(before, later=tuple(later), common=now)
            falls.setdefault(figure.entry, []).append(_Fall.of([*factors, now], figure.entry[1] in TIME_UNITS))
        elif not before.changed:
            found[figure.name] = before
        elif before.anew is not None:
            found[figure.name] = before.anew
    return found, [fall.finding(entry[0], len(those)) for entry, those in falls.items() if (fall := min(those)).lasts]


@dataclass(frozen=True, order=True)
class _Fall:
    """How much worse alike figures are together: on how many of the last ``days``, and by which ``part`` now."""

    slow_days: int
    part: float
    days: int

    @classmethod
    def of(cls, factors: Sequence[float], less_is_better: bool) -> _Fall:
        """Of what they had of their baselines on each night, the last one now."""
        parts = [factor - 1 if less_is_better else 1 - factor for factor in factors[-thresholds.HOST_DAYS :]]
        return cls(sum(part >= thresholds.LEAST_FALL for part in parts), parts[-1], len(parts))

    @property
    def lasts(self) -> bool:
        return self.slow_days >= thresholds.HOST_SLOW and self.part >= thresholds.LEAST_FALL

    def finding(self, entry: str, figures: int) -> Finding:
        return COMMON_FALL.finding(
            entry, figures=figures, percent=round(100 * self.part, 1), slow_days=self.slow_days, days=self.days
        )


@dataclass(frozen=True)
class _Figure:
    """What makes figures alike: the reference entry that speaks of both, and no part that both use."""

    name: str
    value: float
    before: Baseline
    entry: tuple[str, str]
    parts: frozenset[object]
    by_day: Mapping[str, float]

    @classmethod
    def of(cls, metric: AnyMetric, before: Baseline, groups: Mapping[int, frozenset[int]]) -> _Figure:
        """``groups`` are the GPUs behind a common bridge, by each of them."""
        if isinstance(metric, SubjectMetric):
            own, memories = metric.gpus, set[str]()
        else:
            own, memories = _gpus(metric.cell), {str(f.destination) for f in metric.cell.flows if f.kind == "stream"}
        parts = frozenset[object](gpu for index in own for gpu in groups.get(index, [index])) | memories
        by_day = {night.day: night.value for night in before.later}
        return cls(metric.name, metric.value, before, (row_keys(metric)[-1], metric.unit), parts, by_day)

    def is_alike(self, other: _Figure) -> bool:
        """Whether its change tells of the other's: it has no part in common with it, and a baseline of the same time."""
        known = len(self.before.values) >= thresholds.FEWEST_NIGHTS and self.before.median > 0
        apart = bool(self.parts) and self.parts.isdisjoint(other.parts)
        return known and apart and self.entry == other.entry and self._reaches(other) and other._reaches(self)

    def _reaches(self, other: _Figure) -> bool:
        """Whether the other's baseline began before its own ended: that of a new board is younger."""
        return not self.before.later or other.before.since <= self.before.later[0].day

    def factor(self, day: str | None) -> float | None:
        """What it had of its baseline's median on a day, ``None``: now; None where it was not measured."""
        value = self.value if day is None else self.by_day.get(day)
        return None if value is None else value / self.before.median


def _common(alike: Iterable[_Figure], day: str | None) -> float:
    """The least change that all of them have, 1 where they do not change the same way: what one of them has for itself is not taken."""
    factors = [factor for each in alike if (factor := each.factor(day)) is not None]
    if len(factors) < thresholds.FEWEST_ALIKE or min(factors) < 1 < max(factors):
        return 1.0
    return max(factors) if max(factors) <= 1 else min(factors)


def _gpus(cell: Cell) -> tuple[int, ...]:
    return tuple(gpu for flow in cell.flows for gpu in flow.gpus)
