"""Max-min fair shares by progressive filling."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Hashable)

#: A constraint is full when less than this part of its capacity is left.
_FULL = 1e-9


@dataclass(frozen=True)
class Constraint:
    """Σ weight × rate ≤ ``capacity`` over the flows that have a positive weight in it."""

    name: str
    capacity: float
    weights: Mapping[Any, float]

    def used(self, rates: Mapping[F, float]) -> float:
        """Σ weight × rate."""
        return sum(self.weights.get(flow, 0) * rate for flow, rate in rates.items() if self.weights.get(flow, 0) > 0)


def max_min(
    flows: Collection[F], constraints: Sequence[Constraint], speeds: Mapping[F, float] | None = None
) -> dict[F, float]:
    """The rate of each flow: all rise together until a constraint is full; its flows stop, the others go on.

    ``speeds`` are how fast flows rise beside the others (1 where it is not given: equal shares).

    A flow that nothing limits has an infinite rate. There is one solution, whatever the order of flows and
    constraints.
    """
    pace = speeds or {}
    limits = [c for c in constraints if math.isfinite(c.capacity)]
    rising = {flow for flow in flows if any(c.weights.get(flow, 0) > 0 for c in limits)}
    rates: dict[F, float] = {flow: 0.0 if flow in rising else math.inf for flow in flows}
    while rising:
        slopes = [(c, sum(c.weights.get(flow, 0) * pace.get(flow, 1.0) for flow in rising)) for c in limits]
        room = [(c, slope, max(0.0, c.capacity - c.used(rates))) for c, slope in slopes if slope > 0]
        step = min(left / slope for _, slope, left in room)
        for flow in rising:
            rates[flow] += step * pace.get(flow, 1.0)
        for c, slope, left in room:
            if left - step * slope <= _FULL * c.capacity:
                rising -= {flow for flow in rising if c.weights.get(flow, 0) > 0}
    return rates
