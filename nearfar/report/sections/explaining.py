"""The capacities that a modelled page's predictions used, and what shared uplinks carry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from nearfar.base import NearfarError, grouped, listed, site_directories
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import Capacity, NodeType, crossed, degraded, implied_capacities, load_node_type
from nearfar.report.blocks import Block, Group, Text, table
from nearfar.report.explanations import Capacities
from nearfar.report.figures import Figure, number, numbers
from nearfar.report.node_drawing import UplinkRate
from nearfar.topology import Node, shared_uplinks

_WAYS = (("down", "↓", "to its devices"), ("up", "↑", "from its devices"))
_OF_GPU = re.compile(r"g(\d+)(\.\w+)")
_NUMBERS = re.compile(r"\d+")
_MEANING = (
    "what flows share, by the file of the node type. ≤: nobody knows the value, and it is counted as this, the most that the hardware can; "
    "unknown: nor is any limit known, and nothing is limited by it. What crosses either has an upper bound only"
)
#: Of like capacities without a common name so many are named.
_LIKE = 2


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


def modelled_type(name: str, faults: Sequence[str]) -> NodeType | None:
    """The type of a modelled node with the faults that it was given (``g2.h2d=0.5``); None where it is not there."""
    try:
        node_type = load_node_type(name, site_directories())
        return degraded(node_type, degraded_by(faults, node_type))
    except NearfarError:
        return None


def used_rows(node_type: NodeType, figures: Iterable[Figure]) -> list[tuple[str, str, str, int]]:
    """Every capacity that the figures of a modelled node cross, like ones in a row (``g0–7.h2d``): the name; GB/s (``≤ 58.4``: it is not
    known, and counted at that; ``unknown``: nor is any limit); the source; how many rows of the page it limits, the most first."""
    rows = [figure for figure in figures if figure.cell is not None and not figure.derived and figure.flow is None]
    cells = dict.fromkeys(figure.cell for figure in rows if figure.cell is not None)
    groups = grouped(((_NUMBERS.sub("", c.name), *_known(c)), c.name) for c in crossed(cells, node_type))
    found = []
    for (_, value, source), names in groups.items():
        limited = sum(not set(names).isdisjoint(figure.limited_by) for figure in rows)
        parts = [part for name in names if (part := _OF_GPU.fullmatch(name))]
        name = listed(names, _LIKE)
        if len(parts) == len(names) > 1:
            name = f"g{numbers(int(part[1]) for part in parts)}{parts[0][2]}"
        found.append((name, value, source, limited))
    return sorted(found, key=lambda row: -row[3])


def used_capacities(node_type: NodeType, figures: Iterable[Figure], anchor: str) -> list[Block]:
    """The same as a folded table."""
    rows = used_rows(node_type, figures)
    unknown = sum(value == "unknown" for _, value, _, _ in rows)
    note = f"{len(rows)} kinds" + (f", {unknown} of them unknown" if unknown else "")
    listed = [(name, value, source, str(limits or "–")) for name, value, source, limits in rows]
    shown = table(("capacity", ">GB/s", "from where", ">limits, rows"), listed, kind="explaining")
    title = "Capacities that the prediction used"
    return [Group(title, (Text((_MEANING,)), shown), note, True, f"{anchor}.used")] if rows else []


def _known(capacity: Capacity) -> tuple[str, str]:
    """Its value and where that is from, as the table shows them."""
    if capacity.value is not None:
        said = capacity.source.startswith(("assum", "changed by"))
        how = "" if said else "assumed: " if capacity.assumed else "measured: " if capacity.published else "derived: "
        return number(capacity.value), f"{how}{capacity.source}"
    if capacity.best is None:
        return "unknown", f"not known: {capacity.source}"
    how = "its peak" if capacity.peak is not None else f"nominal, {capacity.nominal_words}"
    return f"≤ {number(capacity.best)}", f"upper bound: {how}; {capacity.source}"
