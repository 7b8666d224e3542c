"""What shared uplinks carry, and the type of a modelled node."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import NearfarError, site_directories
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import NodeType, degraded, implied_capacities, load_node_type
from nearfar.report.explanations import Capacities
from nearfar.report.figures import number
from nearfar.topology import Node, shared_uplinks

_WAYS = {"down": "↓", "up": "↑"}


def uplink_rates(node: Node, found: Capacities | None) -> dict[str, str]:
    """By PCI bridge, GB/s to its devices and from them (``↓ ≥ 24.6 ↑ ≥ 25.1``), as this run saw them, else what the links allow; what
    nothing is known of is left out."""
    bounds = {
        name: f"≤ {number(each.best)}" for name, each in implied_capacities(node).items() if each.best is not None
    }
    known = {**bounds, **(found.known if found else {})}
    rates = {
        bridge: " ".join(
            f"{sign} {known[name]}" for way, sign in _WAYS.items() if (name := f"switch:{bridge}.{way}") in known
        )
        for bridge in shared_uplinks(node)
    }
    return {bridge: words for bridge, words in rates.items() if words}


def modelled_type(name: str, faults: Sequence[str]) -> NodeType | None:
    """The type of a modelled node with the faults that it was given (``g2.h2d=0.5``); None where it is not there."""
    try:
        node_type = load_node_type(name, site_directories())
        return degraded(node_type, degraded_by(faults, node_type))
    except NearfarError:
        return None
