"""Links that are slow alike are one bridge, where they are those of all GPUs behind it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from nearfar.cells import Cell
from nearfar.model.prediction import NodeType, switches

from .blames import DegradedPart
from .parts import parts_of

#: A capacity of a GPU's link, and the bridge's that stands for it.
_OF_BRIDGE = {"h2d": "down", "d2h": "up"}


def bridge_of_links(
    blames: Sequence[DegradedPart], node_type: NodeType, bad: Collection[Cell]
) -> tuple[DegradedPart, ...]:
    """The bridge in place of its GPUs' links, where these are all that is blamed and as slow as each other, and no copy between the GPUs
    behind it, which does not cross its uplink, is among the ``bad`` cells; else ``blames``."""
    found = [m for blame in blames if (m := re.fullmatch(r"g(\d+)\.(link|h2d|d2h)", blame.part.name))]
    gpus, ways = {int(match[1]) for match in found}, {match[2] for match in found}
    if len(gpus) < 2 or len(found) < len(blames) or len(ways) > 1:
        return tuple(blames)
    bridge = next((name for name, behind in switches(node_type.node).items() if set(behind) == gpus), None)
    alike = max(blame.low for blame in blames) <= min(blame.high for blame in blames)
    inside = any({f.kind for f in cell.flows} == {"peer"} and set(cell.gpus) <= gpus for cell in bad)
    if bridge is None or not alike or inside:
        return tuple(blames)
    way = ways.pop()
    name = f"switch:{bridge}" + (f".{_OF_BRIDGE[way]}" if way in _OF_BRIDGE else "")
    shared = {own: f"switch:{bridge}.{whole}" for own, whole in _OF_BRIDGE.items() if way in (own, "link")}
    part = next(part for part in parts_of(node_type) if part.name == name)
    return (
        DegradedPart(
            replace(part, capacities=tuple(shared.values())),
            sum(blame.factor for blame in blames) / len(blames),
            min(blame.low for blame in blames),
            max(blame.high for blame in blames),
            _most([blame.now for blame in blames], shared),
            _most([blame.healthy for blame in blames], shared),
            tuple(shared.values()),
        ),
    )


def _most(links: Sequence[Mapping[str, float]], shared: Mapping[str, str]) -> dict[str, float]:
    """Of each of the bridge's capacities the most that a link has of its own."""
    values: dict[str, float] = {}
    for link in links:
        for name, value in link.items():
            whole = shared.get(name.partition(".")[2])
            if whole is not None:
                values[whole] = max(value, values.get(whole, 0.0))
    return values
