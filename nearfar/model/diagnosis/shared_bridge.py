"""Links that are slow alike are one bridge, where they are those of all GPUs behind it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from nearfar.cells import Cell
from nearfar.model.prediction import switches
from nearfar.topology import Node

from .blames import DegradedPart
from .parts import Part

#: What of a GPU's link is blamed, and what of the bridge stands for it: capacities (the link's, the bridge's), what it is.
_WAYS = {
    "link": ((("h2d", "down"), ("d2h", "up")), "uplink of PCI bridge {0}, both directions"),
    "h2d": ((("h2d", "down"),), "uplink of PCI bridge {0}, from the host to its GPUs alone"),
    "d2h": ((("d2h", "up"),), "uplink of PCI bridge {0}, from its GPUs to the host alone"),
}


def bridge_of_links(blames: Sequence[DegradedPart], node: Node, bad: Collection[Cell]) -> tuple[DegradedPart, ...]:
    """The bridge in place of its GPUs' links, where these are all that is blamed and as slow as each other, and no copy between the GPUs
    behind it, which does not cross its uplink, is among the ``bad`` cells; else ``blames``."""
    names = [re.fullmatch(r"g(\d+)\.(link|h2d|d2h)", blame.part.name) for blame in blames]
    found = [match for match in names if match]
    gpus, ways = {int(match[1]) for match in found}, {match[2] for match in found}
    low, high = max((b.low for b in blames), default=1.0), min((b.high for b in blames), default=0.0)
    bridge = next((name for name, behind in switches(node).items() if set(behind) == gpus), None)
    if len(gpus) < 2 or len(found) < len(blames) or len(ways) > 1 or bridge is None or low > high:
        return tuple(blames)
    if any({f.kind for f in cell.flows} == {"peer"} and set(cell.gpus) <= gpus for cell in bad):
        return tuple(blames)
    pairs, description = _WAYS[ways.pop()]
    whole = f"switch:{bridge}"
    names_of = {own: f"{whole}.{shared}" for own, shared in pairs}

    def most(values: str) -> dict[str, float]:
        every = [(name.partition(".")[2], value) for b in blames for name, value in getattr(b, values).items()]
        return {names_of[own]: max(v for o, v in every if o == own) for own in names_of if own in dict(every)}

    name = whole if len(pairs) > 1 else names_of[pairs[0][0]]
    part = Part(name, tuple(names_of.values()), description.format(bridge))
    factor = sum(blame.factor for blame in blames) / len(blames)
    interval = min(blame.low for blame in blames), max(blame.high for blame in blames)
    return (DegradedPart(part, factor, *interval, most("now"), most("healthy"), tuple(names_of.values())),)
