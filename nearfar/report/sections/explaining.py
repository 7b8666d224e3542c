"""What the links that several devices share carry, and the type of a modelled node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nearfar.base import NearfarError, site_directories
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import NodeType, degraded, implied_capacities, load_node_type
from nearfar.report.explanations import Explained
from nearfar.report.figures import number
from nearfar.topology import Node, shared_uplinks


def shared_rates(node: Node, explained: Explained) -> dict[str, str]:
    """GB/s of each link that several devices share, by ``switch:`` and the PCI bridge to its devices and from them (``↓ ≥ 24.6 ↑ ≥
    25.1``), by ``p0-p1`` between two packages: as this run saw them, else what the links allow. What nothing is known of is left out."""
    bounds = {
        name: f"≤ {number(each.best)}" for name, each in implied_capacities(node).items() if each.best is not None
    }
    seen = explained.capacities.known if explained.capacities else {}
    known = {**bounds, **seen, **{name: number(now) for name, now in explained.degraded.items()}}
    ways = {
        f"switch:{bridge}": {f"switch:{bridge}.down": "↓", f"switch:{bridge}.up": "↑"}
        for bridge in shared_uplinks(node)
    }
    packages = [package.index for package in node.packages]
    ways |= {f"p{a}-p{b}": {f"p{a}-p{b}": "→", f"p{b}-p{a}": "←"} for a, b in pairwise(sorted(packages))}
    rates = {
        link: " ".join(f"{sign} {known[name]}".replace(" ", "\u00a0") for name, sign in own.items() if name in known)
        for link, own in ways.items()
    }
    return {link: words for link, words in rates.items() if words}


def modelled_type(name: str, faults: Sequence[str]) -> NodeType | None:
    """The type of a modelled node with the faults that it was given (``g2.h2d=0.5``); None where it is not there."""
    try:
        node_type = load_node_type(name, site_directories())
        return degraded(node_type, degraded_by(faults, node_type))
    except NearfarError:
        return None
