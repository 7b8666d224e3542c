"""Messages between NUMA nodes on the page: a table of latencies and one of bandwidths, the placements below each other."""

from __future__ import annotations

from markupsafe import Markup

from nearfar.binding import RELATIONS
from nearfar.measurement import RATIO
from nearfar.mpi import numa_pairs
from nearfar.report.figures import Figure, class_words

from .mpi import MpiPlace, MpiRow, MpiTable

_PLACEMENTS = (*RELATIONS, numa_pairs.UNKNOWN)
_TITLES = {
    "us": "Ping-pong between two ranks, host memory",
    "GB/s": "Stream of messages between two ranks, host memory",
}


def numa_pair_tables(figures: list[Figure]) -> list[MpiTable]:
    """A table for each unit; none of any other check."""
    mine = [f for f in figures if numa_pairs.subject(f.subject) is not None]
    over = {f.subject: f for f in mine if f.quantity == RATIO}
    return [_table(unit, [f for f in mine if f.quantity != RATIO and f.unit == unit], over) for unit in _units(mine)]


def _units(mine: list[Figure]) -> list[str]:
    return [unit for unit in _TITLES if any(f.unit == unit and f.quantity != RATIO for f in mine)]


def _table(unit: str, mine: list[Figure], over: dict[str, Figure]) -> MpiTable:
    columns = tuple(dict.fromkeys(_size(f) for f in mine))
    pairs = dict.fromkeys(f.subject.partition("/")[0] for f in mine)
    rows = []
    for pair in pairs:
        by_size = {_size(f): f for f in mine if f.subject.partition("/")[0] == pair}
        places = tuple(MpiPlace(by_size[c], over.get(by_size[c].subject)) if c in by_size else None for c in columns)
        first = next(iter(by_size.values()))
        rows.append(MpiRow(class_words(first.path_class), pair.replace("-", " ↔ "), places))
    rows.sort(key=lambda row: [class_words(each) for each in _PLACEMENTS].index(row.label))
    return MpiTable(_TITLES[unit], unit, columns, tuple(rows), Markup(""))


def _size(figure: Figure) -> str:
    about = numa_pairs.subject(figure.subject)
    return "" if about is None else numa_pairs.spaced(about.traffic.partition("_")[2])
