"""The capacities that a modelled page's predictions used: what each carries, from where that is known, and how many rows it limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError, listed, grouped, site_directories
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import Capacity, crossed, degraded, load_node_type
from nearfar.report.blocks import Block, Group, Text, table
from nearfar.report.figures import Figure, number, numbers

_OF_GPU = re.compile(r"g(\d+)(\.\w+)")
_NUMBERS = re.compile(r"\d+")
_MEANING = (
    "what flows share, by the file of the node type. ≤: nobody knows the value, and it is counted as this, the most that the hardware can; "
    "unknown: nor is any limit known, and nothing is limited by it. What crosses either has an upper bound only"
)
#: Of like capacities without a common name so many are named.
_NAMED = 2


@dataclass(frozen=True)
class CapacityRow:
    """Capacities of one kind, value and source: ``g0–7.h2d``. ``value`` in GB/s (``≤ 58.4``: it is not known, and counted at that;
    ``unknown``: nor is any limit), ``limits``: how many rows of the page it limits."""

    name: str
    value: str
    source: str
    limits: int


def used_rows(node_type_name: str, figures: Iterable[Figure], faults: Sequence[str] = ()) -> list[CapacityRow]:
    """Every capacity that the figures of a modelled node cross, like ones in a row: those that limit most first, then by name.
    ``faults``: those that the node was given (``g2.h2d=0.5``). Empty where the node type is not there."""
    try:
        node_type = load_node_type(node_type_name, site_directories())
        node_type = degraded(node_type, degraded_by(faults, node_type))
    except NearfarError:
        return []
    rows = [figure for figure in figures if figure.cell is not None and not figure.derived and figure.flow is None]
    cells = dict.fromkeys(figure.cell for figure in rows if figure.cell is not None)
    groups = grouped(((_NUMBERS.sub("", c.name), *_known(c)), c.name) for c in crossed(cells, node_type))
    found = []
    for (_, value, source), names in groups.items():
        limited = sum(not set(names).isdisjoint(figure.limited_by) for figure in rows)
        parts = [part for name in names if (part := _OF_GPU.fullmatch(name))]
        name = listed(names, _NAMED)
        if len(parts) == len(names) > 1:
            name = f"g{numbers(int(part[1]) for part in parts)}{parts[0][2]}"
        found.append(CapacityRow(name, value, source, limited))
    return sorted(found, key=lambda row: -row.limits)


def used_capacities(node_type_name: str, figures: Iterable[Figure], faults: Sequence[str], anchor: str) -> list[Block]:
    """The same as a folded table."""
    rows = used_rows(node_type_name, figures, faults)
    unknown = sum(each.value == "unknown" for each in rows)
    note = f"{len(rows)} kinds" + (f", {unknown} of them unknown" if unknown else "")
    listed = [(each.name, each.value, each.source, str(each.limits or "–")) for each in rows]
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
