"""Cells of a node type with their constraints laid out once, for work that solves the same cells many times over.

``predict`` explains one cell; ``CompiledCell`` answers "and with these capacities?" in tens of microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nearfar.cells import Cell, Flow

from .capacities import Capacity
from .crossings import shares_of
from .node_types import NodeType, check_endpoints
from .rates import read_speeds

#: A constraint is full when its level differs from the lowest by less than this part.
_SAME_LEVEL = 1e-9
#: A memory shares unevenly from this part of its capacity on.
_FULL = 0.995


class CompiledCell:
    """One cell: its flows, and for each capacity that they cross the weights.

    ``capacities`` are those crossed, with the node type's values; a ``both`` that only one direction uses is left out
    where nobody knows it (the direction's own capacity then says it all).
    """

    def __init__(self, cell: Cell, node_type: NodeType) -> None:
        check_endpoints(node_type.node, cell, f"node type {node_type.name}")
        self.cell = cell
        self.flows: tuple[Flow, ...] = cell.flows
        place = {flow: index for index, flow in enumerate(self.flows)}
        shares = [s for s in shares_of(cell, node_type) if not s.one_way]
        self.capacities: dict[str, Capacity] = {share.capacity.name: share.capacity for share in shares}
        self.weights: dict[str, tuple[tuple[int, float], ...]] = {
            share.capacity.name: tuple((place[flow], weight) for flow, weight in share.weights.items() if weight > 0)
            for share in shares
        }
        self._flow_weights: list[list[tuple[str, float]]] = [[] for _ in self.flows]
        for name, crossing in self.weights.items():
            for flow, weight in crossing:
                self._flow_weights[flow].append((name, weight))

        self._uneven: dict[str, list[float]] = {}
        for memory in self.capacities.values():
            if speeds := read_speeds(self.flows, [memory]):
                self._uneven[memory.name] = [speeds.get(flow, 1.0) for flow in self.flows]

    def used(self, name: str, rates: Sequence[float]) -> float:
        """Σ weight × rate in the capacity ``name``, GB/s."""
        return sum(weight * rates[flow] for flow, weight in self.weights[name])

    def rates(self, values: Mapping[str, float], speeds: Sequence[float] | None = None) -> list[float]:
        """The flows' max-min rates (GB/s) with these capacities; one that ``values`` lacks does not limit.

        ``speeds`` are how fast each flow rises beside the others (1 where it is not given: equal shares). A flow that
        nothing limits is infinite.
        """
        if len(self.flows) == 1:
            return [
                min(
                    (values[name] / weight for name, weight in self._flow_weights[0] if name in values),
                    default=math.inf,
                )
            ]
        rates = self._shared(values, speeds)
        full = [name for name in self._uneven if name in values and self.used(name, rates) >= values[name] * _FULL]
        if not full:
            return rates
        pace = list(speeds or [1.0] * len(self.flows))
        for name in full:
            pace = [own * other for own, other in zip(pace, self._uneven[name])]
        return self._shared(values, pace)

    def _shared(self, values: Mapping[str, float], speeds: Sequence[float] | None) -> list[float]:
        """``rates`` of several flows with these speeds, whatever is full."""
        pace = speeds or [1.0] * len(self.flows)
        room: dict[str, float] = {}
        slope: dict[str, float] = {}
        for name, crossing in self.weights.items():
            value = values.get(name, math.inf)
            if value != math.inf:
                room[name] = value
                slope[name] = sum([weight * pace[flow] for flow, weight in crossing])
        rates = [math.inf] * len(self.flows)
        while slope:
            levels = {name: room[name] / total for name, total in slope.items()}
            lowest = min(levels.values())
            edge = lowest + abs(lowest) * _SAME_LEVEL
            for name in [name for name, level in levels.items() if level <= edge]:
                for flow, _ in self.weights[name]:
                    if rates[flow] != math.inf:
                        continue
                    rates[flow] = rate = max(0.0, lowest) * pace[flow]
                    for crossed, weight in self._flow_weights[flow]:
                        if crossed in slope:
                            room[crossed] -= weight * rate
                            slope[crossed] -= weight * pace[flow]
            slope = {name: total for name, total in slope.items() if total > _SAME_LEVEL}
        return rates


def known_values(node_type: NodeType) -> dict[str, float]:
    """Every capacity and cap of the node type that has a value, by name, GB/s."""
    everything = (*node_type.capacities.values(), *node_type.caps.values())
    return {capacity.name: capacity.value for capacity in everything if capacity.value is not None}
