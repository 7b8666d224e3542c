"""What the uplinks carry that several GPUs share: found in the run's own cells, else what their links allow at most."""

from __future__ import annotations

from nearfar.model.prediction import implied_capacities
from nearfar.report.explanations import Capacities
from nearfar.report.figures import number
from nearfar.report.node_drawing import UplinkRate
from nearfar.topology import Node, shared_uplinks

_WAYS = (("down", "↓", "to its devices"), ("up", "↑", "from its devices"))


def uplink_rates(node: Node, found: Capacities | None) -> dict[str, UplinkRate]:
    """By PCI bridge, GB/s down and up; a bridge of which nothing is known is left out."""
    seen = found.known if found else {}
    implied = implied_capacities(node)
    rates = {}
    for bridge in shared_uplinks(node):
        words, slow, said = [], [], []
        for way, sign, whither in _WAYS:
            name = f"switch:{bridge}.{way}"
            best = implied[name].best if name in implied else None
            value = seen.get(name) or (None if best is None else f"≤ {number(best)}")
            if value is not None:
                words.append(f"{sign} {value}")
                slow.append(f"{sign} {value.removeprefix('≥ ')}")
                said.append(f"{value} GB/s {whither}")
        if words:
            own = any(f"switch:{bridge}.{way}" in seen for way, _, _ in _WAYS)
            origin = "seen in this run" if own else "by its links"
            rates[bridge] = UplinkRate(" ".join(words), " ".join(slow), f"{', '.join(said)} ({origin})")
    return rates
