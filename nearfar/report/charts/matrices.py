"""Heat maps: which figure, failure or skip stands at each place of a matrix, and how far it is from its like. No place is ever blank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nearfar import cells
from nearfar.base import NOT_JUDGED, ORDER, grouped, statistics
from nearfar.report.blocks import Block, Entry, Group, Table, Text, row, table
from nearfar.report.figures import SIGNS, Figure, parsed, shown_together, slug, wording
from nearfar.verdict import Verdict

#: What a place shows: a figure, or why there is none.
FIGURE, FAILED, SKIPPED, MISSING, NEAR, ABSENT = "figure", "failed", "skipped", "missing", "near", "absent"
#: Places of a map of pairs where there is nothing to measure: a device and itself, the other half of a symmetric map.
SELF, MIRROR = "self", "mirror"
_WITHOUT_FIGURE = (FAILED, MISSING, SKIPPED, ABSENT)
_SIGNS = {FAILED: SIGNS["FAIL"], MISSING: SIGNS["INDETERMINATE"], SKIPPED: "–", ABSENT: "·"}
#: What the letters of rows and columns mean.
_KINDS = {"g": "GPU", "n": "NUMA", "c": "cores of"}
#: Of more places each shows its number alone.
_MOST_PLACES = 16
#: As near to the median of its class, a part of 1, a figure is alike.
_ALIKE = 0.02
#: Of a map that is a list so many places stand open.
_MOST_LISTED = 24
#: A reason in a place has so many letters.
_LONGEST_REASON = 64
#: A tint has so many steps; each is so wide, a part of 1, and the first begins where a difference can be seen.
_STEPS, _STEP, _FIRST = 5, 0.02, 0.01
#: A class of fewer has no median to speak of.
_LEAST = 3
_WELL = ("PASS", "MODELLED", NOT_JUDGED)
#: Classes of the path between a device and its own memory.
_OWN = ("near", "local")


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
        return self.state in (FAILED, SKIPPED, MISSING) or self.shown in ORDER[:3]

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
    def block(self) -> Group:
        """The map as a page shows it."""
        modelled = bool(self.figures) and self.figures[0].modelled
        note = f"{'MODELLED; ' if modelled else ''}{self._caption}"
        return Group(self.title, (*self._blocks(), *self._together()), note, kind="map")

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
        alike = [Text(self.alike, "small alike", plain=True)] if self.alike else []
        filled = [each for each in self._own if each[2].state in (FIGURE, FAILED, MISSING)]
        if self.compact and 2 * len(filled) <= len(self._own):
            return [*alike, *self._listed(filled)]
        near = self.compact and any(figure.class_in_name == "near" for figure in self.figures)
        legend = [*(["bold: near"] if near else []), *(self.gaps[:4] if self.compact else [])]
        return [*alike, self._table(), *([Text(("; ".join(legend),), "small muted", plain=True)] if legend else [])]

    def _listed(self, filled: Sequence[tuple[int, int, Place]]) -> list[Block]:
        """What a large map has of which half of the places or more were not measured: what stands out first."""
        arrow = "↔" if self.key == "pair" else "→"
        words: dict[bool, list[str]] = {True: [], False: []}
        for start, end, place in filled:
            said = (place.figure.written, SIGNS[place.shown]) if place.figure else (place.state, _SIGNS[place.state])
            words[place.stands_out].append(f"{self.row_kind}{start}{arrow}{self.column_kind}{end} {' '.join(said)}")
        count = sum(place.figure is not None for *_, place in self._own)
        gaps = [gap for gap in self.gaps if not gap.startswith(_SIGNS[FAILED])]
        rest = "; ".join([f"{count} of {len(self._own)} have a figure", *gaps])
        first = Text((" · ".join([*words[True], rest]),), plain=True)
        others = [Text((" · ".join(words[False]),), plain=True)] if words[False] else []
        if len(filled) <= _MOST_LISTED or not others:
            return [first, *others]
        title = f"{wording.plural(len(words[False]), 'figure')} as expected or not judged"
        return [first, Group(title, tuple(others), folded=True)]

    def _table(self) -> Table:
        width, names = len(self.columns), self.column_names
        short = self.compact and width > 4
        kind = self.column_kind if short or names else f"{_KINDS[self.column_kind]} "
        heads = names or [f"{kind}{index}" for index in self.columns]
        sizes = {1: "one", 2: "few", 3: "", 4: ""}
        look = "compact" if self.compact else sizes.get(width, "dense many" if width > 10 else "dense")
        entry = _compact_entry if self.compact else _entry
        rows = (
            row(Entry(f"{_KINDS[self.row_kind]} {index}", mark="label"), *map(entry, places))
            for index, places in zip(self.rows, self.places)
        )
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


#: What stands where a run did not ask.
NOT_RUN = Entry("– not run", mark="self", tip="this run did not ask for it")
_STATES = {FAILED: f"{SIGNS['FAIL']} failed", SKIPPED: "– skipped", MISSING: f"{SIGNS['INDETERMINATE']} missing"}
_NOTHING = {SELF: "–", MIRROR: "↗", NEAR: "● near"}


def figure_entry(figure: Figure, shown: str, below: Iterable[str], tint: str = "") -> Entry:
    """A figure in a map or a table of steps; ``shown``: the worst verdict of all that stand there."""
    out = shown in ORDER[:3]
    words = [*([shown] if shown in ("FAIL", "DEGRADED") else []), *below]
    mark = " ".join(filter(None, [shown, tint, "bound" if figure.best_case else ""]))
    tip = figure.sentence if out else ""
    return Entry(figure.written, tuple(filter(None, words)), mark, tip, figure.anchor, sign=SIGNS[shown])


def gap_entry(place: Place) -> Entry:
    """What stands where a figure is missing."""
    if place.state == ABSENT:
        return NOT_RUN
    why = place.reason if len(place.reason) <= _LONGEST_REASON else f"{place.reason[: _LONGEST_REASON - 1]}…"
    return Entry(_STATES[place.state], (why,), f"none {place.state}", place.reason, place.anchor)


def _entry(place: Place) -> Entry:
    figure = place.figure
    if figure is None:
        return Entry(_NOTHING[place.state], mark="self") if place.state in _NOTHING else gap_entry(place)
    parts = " ".join(f"{way}\u202f{_part(each)}" for way, each in place.parts) if figure.written != "unknown" else ""
    if figure.is_ratio and not figure.published_beside:
        least = "no bound" if figure.at_least is None else f"at least {wording.number(figure.at_least, figure.unit)}"
        against = "only an upper bound is known" if figure.best_case else least
    elif figure.share is not None:
        against = figure.against
    else:
        against = figure.bound_words or ("judged elsewhere" if figure.judged_elsewhere else "no reference")
    own = "● " if figure.class_in_name in _OWN else ""
    below = (parts, against, figure.of_peak, f"{own}{wording.class_words(figure.path_class)}")
    return figure_entry(figure, place.shown, below, place.tint)


def _part(figure: Figure) -> str:
    return figure.written.replace("≤ ", "≤") + (f" {SIGNS[figure.shown]}" if figure.shown in ORDER[:3] else "")


def _compact_entry(place: Place) -> Entry:
    """The number of a place in a map of many, with a sign where it stands out."""
    figure = place.figure
    if figure is None:
        if place.state in _NOTHING:
            return Entry(_NOTHING[place.state][0], mark="self")
        state = () if place.state == ABSENT else (place.state,)
        return Entry(
            _SIGNS[place.state], state, f"none {place.state}", place.reason if place.anchor else "", place.anchor
        )
    verdict = place.shown if place.shown not in ("PASS", NOT_JUDGED) else ""
    own = "own" if figure.class_in_name in _OWN else ""
    mark = " ".join(filter(None, [verdict, place.tint, "bound" if figure.best_case else "", own]))
    if not place.stands_out:
        return Entry(figure.written, mark=mark)
    return Entry(figure.written, (), mark, figure.sentence, figure.anchor, sign=SIGNS[place.shown])


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
        name = " ".join(([question] if len(questions) > 1 else []) + [wording.class_words(path_class)])
        if row_words is None or not whole:
            said.append(f"{name}: {carry}, {f'{len(good)} of {len(members)}' if odd else f'all {len(members)}'} alike")
        elif not odd:
            said.append(f"{row_words} {wording.numbers(whole)} {name}: {carry}, all alike")
        else:
            said.append(f"{row_words} {wording.numbers(whole)} {name}: {carry}, alike; {wording.numbers(odd)} not")
    return said


def _by_class(found: Iterable[Figure]) -> dict[tuple[str, str], list[Figure]]:
    """By class of path and question: another kernel, or fewer cores, is not its like. Upper bounds are like nothing."""
    return grouped(((figure.path_class, figure.question), figure) for figure in found if not figure.best_case)
