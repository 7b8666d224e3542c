"""Heat maps: which figure, failure or skip stands at each place of a matrix, and how much worse it is than its like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar import cells
from nearfar.base import grouped, statistics
from nearfar.report.blocks import Block, Entry, Group, Table, Text, row, table
from nearfar.report.figures import SIGNS, Figure, wording

from .places import (
    ABSENT,
    FAILED,
    FIGURE,
    MIRROR,
    MISSING,
    SELF,
    SKIPPED,
    WITHOUT_FIGURE,
    CellGaps,
    Place,
    entry,
    figure_place,
    leading_figure,
)

#: What the letters of rows and columns mean.
_KINDS = {"g": "GPU", "n": "NUMA", "c": "cores of"}
#: Of more places each shows its number alone.
_MOST_PLACES = 16
#: Of a map that is a list so many places stand open.
_MOST_LISTED = 24
#: A tint has so many steps; each is so wide, a part of 1, and the first begins where a difference can be seen.
_STEPS, _STEP, _FIRST = 5, 0.02, 0.01
#: A class of fewer has no median to speak of.
_LEAST = 3


@dataclass(frozen=True)
class Matrix:
    """Rows and columns are endpoint letters with numbers, or columns have ``column_names``; ``places[row][column]``."""

    key: str
    title: str
    unit: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    row_kind: str
    column_kind: str
    places: tuple[tuple[Place, ...], ...]
    all_at_once: Place | None = None
    figures: tuple[Figure, ...] = field(default=(), repr=False)
    column_names: tuple[str, ...] = ()

    @property
    def _own(self) -> list[tuple[int, int, Place]]:
        """(Row, column, place) of all where there is something to measure."""
        every = [(r, c, place) for r, row in zip(self.rows, self.places) for c, place in zip(self.columns, row)]
        return [each for each in every if each[2].state not in (SELF, MIRROR)]

    @property
    def gaps(self) -> list[str]:
        """Why places have no figure, each reason once with how many share it."""
        every = Counter((place.state, place.reason) for row in self.places for place in row)
        return [
            f"{sign} {word} ({count})" + (f": {reason}" if state != ABSENT else "")
            for state, (sign, word) in WITHOUT_FIGURE.items()
            for (found, reason), count in every.items()
            if found == state
        ]

    @property
    def block(self) -> Group:
        """The map as a page shows it."""
        return Group(self.title, (*self._blocks(), *self._together()), self._caption, kind="map")

    @property
    def _caption(self) -> str:
        words = ["ratio" if self.unit == "1" else wording.unit_words(self.unit)]
        if self.key == "memory":
            words.append("reads and writes together; the peak: clock × width of the memory")
        elif self.row_kind == "c" and any(figure.of_peak for figure in self.figures):
            words.append("reads and writes together; the peak: that of the DIMMs")
        elif self.key in ("both", "pair"):
            words.append(f"the total; {'↓ H2D and ↑ D2H' if self.key == 'both' else '→ and ← each direction'}")
        elif self.row_kind == self.column_kind:
            words.append("rows: source, columns: destination")
        words += ["rows: cores"] if self.row_kind == "c" else []
        words += ["columns: memory"] if (self.row_kind, self.column_kind) == ("c", "n") else []
        return ", ".join(words)

    def _blocks(self) -> list[Block]:
        run = [place for *_, place in self._own if place.state != ABSENT]
        if run and all(place.state == SKIPPED for place in run):
            return [Text((f"– No figure here: every cell was skipped. {run[0].reason}",), "small nothing")]
        compact = len(self.rows) * len(self.columns) > _MOST_PLACES
        filled = [each for each in self._own if each[2].state in (FIGURE, FAILED, MISSING)]
        if compact and 2 * len(filled) <= len(self._own):
            return self._listed(filled)
        near = ["bold: near"] if any(figure.class_in_name == "near" for figure in self.figures) else []
        legend = "; ".join([*near, *self.gaps[:4]]) if compact else ""
        return [self._table(compact), *([Text((legend,), "small muted", plain=True)] if legend else [])]

    def _listed(self, filled: Sequence[tuple[int, int, Place]]) -> list[Block]:
        """What a large map has of which half of the places or more were not measured: what stands out first."""
        arrow = "↔" if self.key == "pair" else "→"
        words: dict[bool, list[str]] = {True: [], False: []}
        for start, end, place in filled:
            sign = SIGNS[place.shown] if place.figure else WITHOUT_FIGURE[place.state][0]
            said = place.figure.written if place.figure else place.state
            words[place.stands_out].append(f"{self.row_kind}{start}{arrow}{self.column_kind}{end} {said} {sign}")
        count = sum(place.figure is not None for *_, place in self._own)
        gaps = [gap for gap in self.gaps if not gap.startswith(SIGNS["FAIL"])]
        rest = "; ".join([f"{count} of {len(self._own)} have a figure", *gaps])
        first = Text((" · ".join([*words[True], rest]),), plain=True)
        others = [Text((" · ".join(words[False]),), plain=True)] if words[False] else []
        if len(filled) <= _MOST_LISTED or not others:
            return [first, *others]
        title = f"{wording.plural(len(words[False]), 'figure')} as expected or not judged"
        return [first, Group(title, tuple(others), folded=True)]

    def _table(self, compact: bool) -> Table:
        width, names = len(self.columns), self.column_names
        kind = self.column_kind if names or (compact and width > 4) else f"{_KINDS[self.column_kind]} "
        heads = names or [f"{kind}{index}" for index in self.columns]
        sizes = {1: "one", 2: "few", 3: "", 4: ""}
        look = "compact" if compact else sizes.get(width, "dense many" if width > 10 else "dense")
        labels = (Entry(f"{_KINDS[self.row_kind]} {index}", mark="label") for index in self.rows)
        rows = (row(label, *(entry(place, compact) for place in places)) for label, places in zip(labels, self.places))
        return table(["", *heads], rows, kind=f"heat {look}".rstrip())

    def _together(self) -> list[Text]:
        if self.all_at_once is None or self.all_at_once.figure is None:
            return []
        place, figure = self.all_at_once, self.all_at_once.figure
        value = " ".join(filter(None, [figure.written, wording.unit_words(figure.unit), figure.bound_words]))
        expected = f"expected {figure.expectation}" if figure.reference else figure.expectation
        parts = [value, f"{SIGNS[place.shown]} {place.shown}", figure.of_peak, expected]
        what = "GPUs" if self.row_kind == "g" else "NUMA nodes"
        return [Text((f"All {what} at once: {', '.join(filter(None, parts))}",), "small", plain=True)]


def load_place(cell: cells.Cell | None) -> tuple[str, int, int] | None:
    """(``h2d``, ``d2h`` or ``both``; GPU; NUMA node) of a cell of the host-device matrix: pinned memory, copy engine, driven from the
    memory's own node; None for any other cell."""
    if cell is None or len(cell.flows) > 2 or any(f.kind != "host" or f.driver or f.options for f in cell.flows):
        return None
    ends = {(flow.gpus[0], flow.numa_node) for flow in cell.flows}
    if len(ends) != 1:
        return None
    gpu, numa = ends.pop()
    if numa is None:
        return None
    load = "both" if len(cell.flows) == 2 else cell.flows[0].direction
    return load, gpu, numa


def cell_map(
    key: str,
    at: str,
    title: str,
    figures: Iterable[Figure],
    why: CellGaps,
    kinds: str,
    rows: Iterable[int] = (),
    columns: Iterable[int] = (),
    *,
    names: Mapping[str, str] | None = None,
    together: Sequence[Figure] = (),
) -> list[Matrix]:
    """A map of the cells that are written as ``at`` with a row and a column; none where no such cell was asked for. ``kinds``: the letters
    of rows and columns; ``rows`` and ``columns``: those that the node has, cells may add to them; ``names``: of columns that are words of
    the notation; ``together``: the figures of the cell of all rows at once."""
    found = [(figure.cell, figure) for figure in figures if figure.cell is not None]
    flows = {flow for cell in (*(cell for cell, _ in found), *why.by_cell) for flow in cell.flows}
    ends = {(end.kind, end.index) for flow in flows for end in (flow.source, flow.destination)}
    across = {*rows, *(index for kind, index in ends if kind == kinds[0])}
    down = {*columns, *(index for kind, index in ends if kind == kinds[1])}
    words, pairs = list(names or ()), kinds[0] == kinds[1]
    made_of = {
        (row, column): cells.parse(at.format(row=row, column=words[column] if names else column))
        for row in sorted(across)
        for column in (range(len(words)) if names else sorted(down))
        if not (pairs and row == column)
    }
    first = {cell: place for place, cell in reversed(made_of.items())}
    places = grouped((first[cell], figure) for cell, figure in found if cell in first)
    lost = [first[cell] for cell in why.by_cell if cell in first]
    if not places and not lost:
        return []
    across = {*rows, *(row for row, _ in (*places, *lost))}
    down = {*columns, *(column for _, column in (*places, *lost))}
    if pairs:
        across = down = across | down
    away = _distances(map(leading_figure, places.values()))
    made = {
        place: figure_place(group, _tint(away.get(leading_figure(group).anchor))) for place, group in places.items()
    }

    def place(row: int, column: int) -> Place:
        if pairs and row == column:
            return Place(SELF, reason="a GPU and itself are not a pair")
        cell = made_of[row, column]
        if first[cell] != (row, column):
            return Place(MIRROR, reason=f"both directions stand at GPU {column}, GPU {row}")
        return made.get((row, column)) or why.place(cell)

    grid = tuple(tuple(place(row, column) for column in sorted(down)) for row in sorted(across))
    every = (*(f for group in places.values() for f in group), *together)
    return [Matrix(
        key, title, every[0].unit if every else "GB/s", tuple(sorted(across)), tuple(sorted(down)), kinds[0], kinds[1], grid,
        figure_place(together) if together else None, every, tuple((names or {})[words[c]] for c in sorted(down) if names),
    )]  # fmt: skip


def _distances(found: Iterable[Figure]) -> dict[str, float]:
    """How far each figure is from its like, a part of 1, by anchor; below zero is worse. Its like is the median of its class and question
    (another kernel, or fewer cores, is not its like); in a class of fewer than three it is the figure's reference. Figures that have
    neither are left out, and upper bounds."""
    away = {}
    for members in grouped(((f.path_class, f.question), f) for f in found if not f.best_case).values():
        values = [figure.value for figure in members if figure.value is not None]
        middle = statistics.median(values) if len(values) >= _LEAST else None
        for figure in members:
            like = middle or figure.expected
            if figure.value is not None and like:
                away[figure.anchor] = (figure.value / like - 1) * (-1 if figure.unit in ("us", "s") else 1)
    return away


def _tint(away: float | None) -> str:
    """The class of a place's tint: ``low3``; empty where a figure is not worse than its like, or has none."""
    if away is None or away > -_FIRST:
        return ""
    return f"low{min(_STEPS, 1 + int((-away - _FIRST) / _STEP))}"
