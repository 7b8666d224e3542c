"""Messages between NUMA nodes on the page: a table of latencies and one of bandwidths, the placements below each other."""

from __future__ import annotations

from nearfar.binding import RELATIONS
from nearfar.measurement import RATIO
from nearfar.mpi import numa_pairs
from nearfar.report.blocks import Block, Entry, Table, row
from nearfar.report.figures import Figure, class_words

from .mpi import figure_entry, figure_table

_PLACEMENTS = (*RELATIONS, numa_pairs.UNKNOWN)
_TITLES = {
    "us": "Ping-pong between two ranks, host memory",
    "GB/s": "Stream of messages between two ranks, host memory",
}


def numa_pair_tables(figures: list[Figure]) -> list[Block]:
    """A table for each unit; none of any other check."""
    mine = [f for f in figures if numa_pairs.subject(f.subject) is not None]
    over = {f.subject: f for f in mine if f.quantity == RATIO}
    return [_table(unit, [f for f in mine if f.quantity != RATIO and f.unit == unit], over) for unit in _units(mine)]


def _units(mine: list[Figure]) -> list[str]:
    return [unit for unit in _TITLES if any(f.unit == unit and f.quantity != RATIO for f in mine)]


def _table(unit: str, mine: list[Figure], over: dict[str, Figure]) -> Table:
    columns = tuple(dict.fromkeys(_size(f) for f in mine))
    pairs = {f.subject.partition("/")[0]: f.path_class for f in reversed(mine)}
    rows = []
    for pair in sorted(pairs, key=lambda pair: _PLACEMENTS.index(pairs[pair])):
        by_size = {_size(f): f for f in mine if f.subject.partition("/")[0] == pair}
        places = [figure_entry(f := by_size.get(c), over.get(f.subject) if f else None) for c in columns]
        rows.append(row(Entry(class_words(pairs[pair]), (pair.replace("-", " ↔ "),), "label"), *places))
    return figure_table(_TITLES[unit], unit, columns, rows)


def _size(figure: Figure) -> str:
    about = numa_pairs.subject(figure.subject)
    return "" if about is None else numa_pairs.spaced(about.traffic.partition("_")[2])
