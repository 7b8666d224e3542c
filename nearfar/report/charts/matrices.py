"""Heat maps: which figure, failure or skip stands at each place of a matrix, and how far it is from its like. No place is ever blank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nearfar import cells
from nearfar.base import NOT_JUDGED, grouped, statistics
from nearfar.report.figures import SIGNS, Figure, class_words, numbers, parsed, shown_together, slug, wording
from nearfar.verdict import Verdict

#: What a place shows: a figure, or why there is none.
FIGURE, FAILED, SKIPPED, MISSING, NEAR, ABSENT = "figure", "failed", "skipped", "missing", "near", "absent"
#: Places of a map of pairs where there is nothing to measure: a device and itself, the other half of a symmetric map.
SELF, MIRROR = "self", "mirror"
_WITHOUT_FIGURE = (FAILED, MISSING, SKIPPED, ABSENT)
_SIGNS = {FAILED: SIGNS["FAIL"], MISSING: SIGNS["INDETERMINATE"], SKIPPED: "–", ABSENT: "·"}
#: Of more places each shows its number alone.
_MOST_PLACES = 16
#: As near to the median of its class, a part of 1, a figure is alike.
_ALIKE = 0.02
#: A tint has so many steps; each is so wide, a part of 1, and the first begins where a difference can be seen.
_STEPS, _STEP, _FIRST = 5, 0.02, 0.01
#: A class of fewer has no median to speak of.
_LEAST = 3
_WELL = ("PASS", "MODELLED", NOT_JUDGED)


@dataclass(frozen=True)
class Place:
    """One place of a matrix. ``parts`` are the figures of the cell's flows beside its total; ``tint``: a class by how much worse it is
    than its like."""

    state: str
    figure: Figure | None = None
    parts: tuple[tuple[str, Figure], ...] = ()
    reason: str = ""
    tint: str = ""
    anchor: str = ""

    @property
    def stands_out(self) -> bool:
        """Whether a reader should look at it: it has no figure though one was asked for, or its verdict is no good one."""
        return self.state in (FAILED, SKIPPED, MISSING) or self.shown in ("FAIL", "DEGRADED", "INDETERMINATE")

    @property
    def shown(self) -> str:
        """The worst verdict of the place's figures, as a page shows it; empty where there is no figure."""
        return shown_together(self.figure, (part for _, part in self.parts)) if self.figure else ""


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
    alike: tuple[str, ...] = ()

    @property
    def compact(self) -> bool:
        """Whether it has too many places for more than a number in each."""
        return len(self.rows) * len(self.columns) > _MOST_PLACES

    @property
    def _own(self) -> list[tuple[int, int, Place]]:
        """(Row, column, place) of all where there is something to measure."""
        every = [(r, c, place) for r, row in zip(self.rows, self.places) for c, place in zip(self.columns, row)]
        return [each for each in every if each[2].state not in (SELF, MIRROR)]

    @property
    def filled(self) -> str:
        """``98 of 240 have a figure``."""
        places = self._own
        return f"{sum(place.figure is not None for *_, place in places)} of {len(places)} have a figure"

    @property
    def sparse(self) -> list[tuple[int, int, Place]]:
        """(Row, column, place) of what a large map has where half of its places or more were not measured: then it is a list, what stands
        out first."""
        filled = [each for each in self._own if each[2].state in (FIGURE, FAILED, MISSING)]
        if not self.compact or 2 * len(filled) > len(self._own):
            return []
        return sorted(filled, key=lambda each: not each[2].stands_out)

    @property
    def gaps(self) -> list[str]:
        """Why places have no figure, each reason once with how many share it."""
        places = (place for row in self.places for place in row if place.state in _WITHOUT_FIGURE)
        every = Counter((place.state, place.reason) for place in places)
        words = {FAILED: "failed", SKIPPED: "skipped", MISSING: "missing", ABSENT: "not run"}
        return [
            f"{_SIGNS[state]} {words[state]} ({count})" + (f": {reason}" if state != ABSENT else "")
            for (state, reason), count in sorted(every.items(), key=lambda pair: _WITHOUT_FIGURE.index(pair[0][0]))
        ]

    @property
    def all_skipped(self) -> str | None:
        """Why, where every place that was run is skipped: the first reason. A matrix of nothing but skips is a sentence."""
        run = [place for *_, place in self._own if place.state != ABSENT]
        return run[0].reason if run and all(p.state == SKIPPED for p in run) else None


@dataclass(frozen=True)
class CellGaps:
    """Why cells have no figure: ``FAILED``, ``SKIPPED`` or ``MISSING``, and the reason, by cell. ``prefix`` is that of their anchors."""

    by_cell: Mapping[cells.Cell, tuple[str, str]] = field(default_factory=dict)
    prefix: str = ""

    def place(self, cell: cells.Cell) -> Place:
        """What stands where the figure of ``cell`` would."""
        if cell not in self.by_cell:
            return Place(ABSENT, reason="this run did not ask for it")
        state, reason = self.by_cell[cell]
        return Place(state, reason=reason, anchor=cell_anchor(self.prefix, cell))

    def of_ratio(self, *parts: cells.Cell) -> Place:
        """What stands where a ratio of ``parts`` would: why the first of them that was asked for has no figure."""
        places = [self.place(cell) for cell in parts]
        return replace(next((place for place in places if place.state != ABSENT), places[0]), anchor="")


def evidence(verdict: Verdict | None, prefix: str = "") -> CellGaps:
    """Gather the reasons. ``prefix`` makes anchors unique on a page."""
    if verdict is None:
        return CellGaps(prefix=prefix)
    lost = [(parsed(entry.cell), FAILED, entry.reason) for entry in verdict.failed]
    lost += [(parsed(entry.cell), SKIPPED, entry.reason) for entry in verdict.unmeasured]
    lost += [(parsed(text), MISSING, "asked for, and not reported") for text in verdict.missing]
    by_cell: dict[cells.Cell, tuple[str, str]] = {}
    for cell, state, reason in lost:
        if cell is not None and by_cell.get(cell, (state,))[0] == state:  # what failed is not skipped too
            by_cell[cell] = state, reason
    return CellGaps(by_cell, prefix)


def cell_anchor(prefix: str, cell: cells.Cell) -> str:
    """The anchor of a cell without a figure."""
    return slug(f"{prefix}.cell.{cells.encode_cell(cell)}")


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


def cell_map(key: str, at: str, title: str, figures: Iterable[Figure], why: CellGaps, kinds: str, rows: Iterable[int] = (),
             columns: Iterable[int] = (), *, names: Mapping[str, str] | None = None, together: Sequence[Figure] = (),
             without: Callable[[cells.Cell], Place] | None = None) -> list[Matrix]:  # fmt: skip
    """A map of the cells that are written as ``at`` with a row and a column; none where no such cell was asked for. ``kinds``: the letters
    of rows and columns; ``rows`` and ``columns``: those that the node has, cells may add to them; ``names``: of columns that are words of
    the notation; ``together``: the figures of the cell of all rows at once; ``without``: what stands at a cell without a figure (default:
    what ``why`` says of it)."""
    found = [(figure.cell, figure) for figure in figures if figure.cell is not None]
    flows = {flow for cell in (*(cell for cell, _ in found), *why.by_cell) for flow in cell.flows}
    ends = {(end.kind, end.index) for flow in flows for end in (flow.source, flow.destination)}
    across = {*rows, *(index for kind, index in ends if kind == kinds[0])}
    down = {*columns, *(index for kind, index in ends if kind == kinds[1])}
    words, pairs = list(names or ()), kinds[0] == kinds[1]
    keys = [(row, column) for row in sorted(across) for column in (range(len(words)) if names else sorted(down))]
    made_of = {
        (row, column): cells.parse(at.format(row=row, column=words[column] if names else column))
        for row, column in keys
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
    leading = {place: _leading(group) for place, group in places.items()}
    away = _distances(leading.values())
    made = {place: _figure_place(group, away.get(leading[place].anchor)) for place, group in places.items()}

    def place(row: int, column: int) -> Place:
        if pairs and row == column:
            return Place(SELF, reason="a GPU and itself are not a pair")
        cell = made_of[row, column]
        if first[cell] != (row, column):
            return Place(MIRROR, reason=f"both directions stand at GPU {column}, GPU {row}")
        return made.get((row, column)) or (without or why.place)(cell)

    grid = tuple(tuple(place(row, column) for column in sorted(down)) for row in sorted(across))
    every = (*(f for group in places.values() for f in group), *together)
    row_words = None if pairs else {"g": "GPU", "n": "NUMA node", "c": "cores of NUMA node"}[kinds[0]]
    return [Matrix(
        key, title, every[0].unit if every else "GB/s", tuple(sorted(across)), tuple(sorted(down)), kinds[0], kinds[1], grid,
        _figure_place(together) if together else None, every, tuple((names or {})[words[c]] for c in sorted(down) if names),
        tuple(_alike(leading, row_words)),
    )]  # fmt: skip


def _leading(group: Sequence[Figure]) -> Figure:
    """The figure that stands for a place: the lone one, or the total of several flows."""
    return next((f for f in group if f.flow is None), group[0])


def _figure_place(group: Sequence[Figure], away: float | None = None) -> Place:
    leading = _leading(group)
    parts = tuple((_way(f.flow), f) for f in group if f.flow is not None and f is not leading)
    return Place(FIGURE, leading, parts, leading.reason or "", _tint(away))


def _way(flow: cells.Flow) -> str:
    """A direction's sign: to the GPU, to the memory, to the GPU of the greater or of the lesser number."""
    if flow.kind == "peer":
        return "→" if flow.source.index < flow.destination.index else "←"
    return {"h2d": "↓", "d2h": "↑"}.get(flow.direction, flow.direction)


def _distances(found: Iterable[Figure]) -> dict[str, float]:
    """How far each figure is from its like, a part of 1, by anchor; below zero is worse. Its like is the median of its class among
    ``found``; in a class of fewer than three it is the figure's reference. Figures that have neither are left out, and upper bounds."""
    away = {}
    for members in _by_class(found).values():
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


def _alike(found: Mapping[tuple[int, int], Figure], row_words: str | None) -> list[str]:
    """A sentence for each class of at least three figures that are no upper bounds: what those carry that are alike, and how many they are.

    ``found`` is by (row, column); ``row_words`` names a row (``GPU``), None: the rows alone say nothing (pairs).
    """
    keys = {figure.anchor: key for key, figure in found.items()}
    said = []
    groups = _by_class(found.values())
    questions = {question for _, question in groups}
    for (path_class, question), members in groups.items():
        away = _distances(members)
        good = [f for f in members if f.shown in _WELL and abs(away.get(f.anchor, 1.0)) <= _ALIKE]
        if len(members) < _LEAST or len(good) < _LEAST:
            continue
        middle = statistics.median([f.value for f in good if f.value is not None])
        carry = wording.amount(middle, good[0].unit)
        odd = {keys[f.anchor][0] for f in members if f not in good}
        whole = {keys[f.anchor][0] for f in good} - odd
        name = " ".join(([question] if len(questions) > 1 else []) + [class_words(path_class)])
        if row_words is None or not whole:
            said.append(f"{name}: {carry}, {f'{len(good)} of {len(members)}' if odd else f'all {len(members)}'} alike")
        elif not odd:
            said.append(f"{row_words} {numbers(whole)} {name}: {carry}, all alike")
        else:
            said.append(f"{row_words} {numbers(whole)} {name}: {carry}, alike; {numbers(odd)} not")
    return said


def _by_class(found: Iterable[Figure]) -> dict[tuple[str, str], list[Figure]]:
    """By class of path and question: another kernel, or fewer cores, is not its like. Upper bounds are like nothing."""
    return grouped(((figure.path_class, figure.question), figure) for figure in found if not figure.best_case)
