"""Several GPUs that exchange data at once: a table of the GPUs, one to all and all to one, and a table of disjoint pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nearfar.cells import ALL_TO_ONE, ONE_TO_ALL, ONE_WAY, Cell, Exchange, bisection, exchange_of
from nearfar.report.blocks import Block, Entry, Row, row
from nearfar.report.charts import CellGaps
from nearfar.report.figures import Figure, class_words
from nearfar.topology import Node

from .steps import NOT_RUN, Flows, entry_of, fairness_words, flows_by_cell, gap_entry, part_of_alone, steps, total_of

_CAPTION = "the total of all flows; what each flow has; the total beside what the flows carry alone, added up"


def exchange_tables(
    figures: list[Figure], document: Mapping[str, Any], why: CellGaps, node: Node | None
) -> list[Block]:
    """The tables; none where no cell is an exchange between three GPUs or more."""
    asked = [f.cell for f in figures if f.cell is not None] + [*why.failed, *why.skipped, *why.missing]
    known = {cell: found for cell in dict.fromkeys(asked) if (found := exchange_of(cell)) is not None}
    flows = flows_by_cell(document)
    entries = {cell: _entry(cell, figures, flows.get(cell, []), why) for cell in known}
    of_hubs = {cell: each for cell, each in known.items() if each.hub is not None}
    of_pairs = {cell: each for cell, each in known.items() if each.pairs}
    hubs = [_hub_row(hub, of_hubs, entries) for hub in sorted({e.hub for e in of_hubs.values() if e.hub is not None})]
    columns, pairs = ("To all, each reads", "From all, each writes"), _pairs(of_pairs, entries, node)
    return [
        *steps("One GPU with all others", _CAPTION, columns, hubs, list(of_hubs), why),
        *steps("Disjoint pairs at once", _CAPTION, ("All at once",), pairs, list(of_pairs), why),
    ]


def _hub_row(hub: int, known: Mapping[Cell, Exchange], entries: Mapping[Cell, Entry]) -> Row:
    at = {exchange.pattern: entries[cell] for cell, exchange in known.items() if exchange.hub == hub}
    cell = next(cell for cell, exchange in known.items() if exchange.hub == hub)
    others = dict.fromkeys(gpu for flow in cell.flows for gpu in flow.gpus if gpu != hub)
    label = Entry(f"GPU {hub}", (" ".join(f"g{gpu}" for gpu in others),), "label")
    return row(label, *(at.get(pattern, NOT_RUN) for pattern in (ONE_TO_ALL, ALL_TO_ONE)))


def _pairs(known: Mapping[Cell, Exchange], entries: Mapping[Cell, Entry], node: Node | None) -> list[Row]:
    """A row for each set of pairs and direction; the halves of the node say that they are."""
    halves = {_unordered(e.pairs) for cell in bisection(node) if (e := exchange_of(cell))} if node else set()
    rows = []
    for cell, exchange in known.items():
        one_way = exchange.pattern == ONE_WAY
        half = "Half to half" if one_way else "Half with half"
        label = half if _unordered(exchange.pairs) in halves else "Round"
        pairs = " ".join(f"g{a}{'→' if one_way else '↔'}g{b}" for a, b in exchange.pairs)
        rows.append(row(Entry(label, (pairs,), "label"), entries[cell]))
    return rows


def _unordered(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in pairs))


def _entry(cell: Cell, figures: list[Figure], flows: Flows, why: CellGaps) -> Entry:
    mine = [f for f in figures if f.cell == cell]
    total = total_of(cell, mine)
    if total is None:
        return gap_entry(why.place(cell))
    shares = [f.value for f in mine if f.flow is not None and f.value is not None]
    words = [class_words(total.path_class), *fairness_words(shares), *part_of_alone(total, flows)]
    # How one to all divides has no reference, and is no reason to call the judged total unjudged.
    return entry_of(total, mine, words)
