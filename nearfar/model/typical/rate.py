"""What the flows of a cell typically carry on a healthy node of this kind, with its range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.cells import Cell, Flow
from nearfar.model.prediction import Constraint, NodeType, max_min

from .crossed import limits_of
from .experience import Experience, Share, spread
from .limits import PEAK, Limit, NotDescribed


@dataclass(frozen=True)
class TypicalRate:
    """GB/s of all flows together, typical and its range, and of each flow. ``limit`` is what is full, ``share`` the name of the experience
    behind it (empty: a figure of the node type; ``PEAK``), ``nodes`` of how many machines that is."""

    typical: float
    least: float
    greatest: float
    flows: Mapping[Flow, float]
    limit: str
    share: str
    nodes: int


def typical_rate(
    cell: Cell, node_type: NodeType, experience: Experience, until_last: bool = False
) -> TypicalRate | None:
    """What the cell carries; None where no rule or no machine says it. ``until_last``: equal amounts, until the last has ended."""
    try:
        limits = limits_of(cell, node_type)
    except NotDescribed:
        return None
    known = [(limit, *found) for limit in limits if (found := _share(limit, experience)) is not None]
    rates = [_rates(cell, known, way, until_last) for way in (0, -1, 1)]
    total, least, greatest = (sum(each.values()) for each in rates)
    if not math.isfinite(total):
        return None
    limit, name, _, share = min(known, key=lambda each: _room(each, rates[0]))
    return TypicalRate(total, least, greatest, rates[0], limit.name, name, share.nodes)


_Known = tuple[Limit, str, float, Share]


def _share(limit: Limit, experience: Experience) -> tuple[str, float, Share] | None:
    """The most particular experience of a limit: its name, what it is a share of, and the share."""
    for name, base in limit.steps:
        if name in ("", PEAK):
            return name, base, Share(1.0, 0)
        if name in experience:
            return name, base, experience[name]
    return None


def _rates(cell: Cell, known: Sequence[_Known], way: int, until_last: bool) -> dict[Flow, float]:
    """The typical rates (``way`` 0), or those at the lower (-1) or upper (1) end of each share's range."""
    constraints = [
        Constraint(limit.name, _value(base, share.typical * (1 + way * spread(name))), limit.flows)
        for limit, name, base, share in known
    ]
    rates = max_min(cell.flows, constraints)
    return dict.fromkeys(rates, min(rates.values())) if until_last else rates


def _value(base: float, share: float) -> float:
    """GB/s; a share of what links carry is at most all of it."""
    return base * min(share, 1.0)


def _room(known: _Known, rates: Mapping[Flow, float]) -> float:
    limit, _, base, share = known
    return 1 - sum(weight * rates[flow] for flow, weight in limit.flows.items()) / _value(base, share.typical)
