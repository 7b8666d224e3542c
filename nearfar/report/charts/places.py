"""What stands at a place of a map or a table of steps: a figure, or why there is none. No place is ever blank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar import cells
from nearfar.base import NOT_JUDGED, ORDER
from nearfar.report.blocks import Entry
from nearfar.report.figures import SIGNS, Figure, parsed, shown_together, slug, wording
from nearfar.verdict import Verdict

#: What a place shows: a figure, or why there is none.
FIGURE, FAILED, SKIPPED, MISSING, ABSENT = "figure", "failed", "skipped", "missing", "absent"
#: Places of a map of pairs where there is nothing to measure: a device and itself, the other half of a symmetric map.
SELF, MIRROR = "self", "mirror"
#: Sign and word of what has no figure, the worst first.
WITHOUT_FIGURE = {
    FAILED: (SIGNS["FAIL"], "failed"), MISSING: (SIGNS["INDETERMINATE"], "missing"), SKIPPED: ("–", "skipped"), ABSENT: ("·", "not run"),
}  # fmt: skip
_NOTHING = {SELF: "–", MIRROR: "↗"}
#: Ratios that stand below the figure that they were made of.
OVER = {"over_near": "of near", "staged_over_direct": "of direct"}
#: A reason in a place has so many letters.
_LONGEST_REASON = 64
#: Classes of the path between a device and its own memory.
_OWN = ("near", "local")
#: What stands where a run did not ask.
NOT_RUN = Entry("– not run", mark="self", tip="this run did not ask for it")


@dataclass(frozen=True)
class Place:
    """``figures``: the leading one, a lone figure or the total of several flows, then its flows' and its ratios; ``tint``: a class by
    how much worse it is than its like."""

    state: str
    figures: tuple[Figure, ...] = ()
    reason: str = ""
    tint: str = ""
    anchor: str = ""

    @property
    def figure(self) -> Figure | None:
        """The leading figure."""
        return self.figures[0] if self.figures else None

    @property
    def stands_out(self) -> bool:
        """Whether a reader should look at it: it has no figure though one was asked for, or its verdict is no good one."""
        return self.state in (FAILED, SKIPPED, MISSING) or self.shown in ORDER[:3]

    @property
    def shown(self) -> str:
        """The worst verdict of the place's figures, as a page shows it; empty where there is no figure."""
        return shown_together(self.figures[0], self.figures[1:]) if self.figures else ""


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


def figure_entry(figure: Figure, shown: str, below: Iterable[str], tint: str = "") -> Entry:
    """A figure in a map or a table of steps; ``shown``: the worst verdict of all that stand there."""
    words = [*([shown] if shown in ("FAIL", "DEGRADED") else []), *below]
    mark = " ".join(filter(None, [shown, tint, "bound" if figure.best_case else ""]))
    tip = figure.sentence if shown in ORDER[:3] else ""
    return Entry(figure.written, tuple(filter(None, words)), mark, tip, figure.anchor, sign=SIGNS[shown])


def gap_entry(place: Place) -> Entry:
    """What stands where a figure is missing."""
    if place.state == ABSENT:
        return NOT_RUN
    why = place.reason if len(place.reason) <= _LONGEST_REASON else f"{place.reason[: _LONGEST_REASON - 1]}…"
    words = " ".join(WITHOUT_FIGURE[place.state])
    return Entry(words, (why,), f"none {place.state}", place.reason, place.anchor)


def entry(place: Place, compact: bool) -> Entry:
    """A place in a map; ``compact``: the number alone, with a sign where it stands out."""
    figure = place.figure
    if place.state in _NOTHING:
        return Entry(_NOTHING[place.state], mark="self")
    if figure is None and compact:
        state = () if place.state == ABSENT else (place.state,)
        tip = place.reason if place.anchor else ""
        return Entry(WITHOUT_FIGURE[place.state][0], state, f"none {place.state}", tip, place.anchor)
    if figure is None:
        return gap_entry(place)
    own = figure.class_in_name in _OWN
    if compact:
        verdict = place.shown if place.shown not in ("PASS", NOT_JUDGED) else ""
        mark = " ".join(filter(None, [verdict, place.tint, "bound" if figure.best_case else "", "own" if own else ""]))
        out = (figure.sentence, figure.anchor) if place.stands_out else ("", "")
        return Entry(figure.written, (), mark, *out, sign=SIGNS[place.shown] if place.stands_out else "")
    parts = "" if figure.written == "unknown" else " ".join(_part(f) for f in place.figures[1:] if not f.derived)
    over = [f"{f.written} {OVER[f.derived]}" for f in place.figures[1:] if f.derived and f.written != "unknown"]
    class_ = f"{'● ' if own else ''}{wording.class_words(figure.path_class)}"
    return figure_entry(figure, place.shown, (parts, _against(figure), figure.of_peak, class_, *over), place.tint)


def _against(figure: Figure) -> str:
    if figure.share is not None:
        return figure.against
    return figure.bound_words or ("judged elsewhere" if figure.judged_elsewhere else "no reference")


def _part(figure: Figure) -> str:
    """A flow's figure below the total, with its direction's sign: to the GPU, to the memory, to the GPU of the greater or the lesser
    number."""
    flow = figure.flow
    assert flow is not None, "a part of a total"
    peers = "→" if flow.kind == "peer" and flow.source.index < flow.destination.index else "←"
    way = peers if flow.kind == "peer" else {"h2d": "↓", "d2h": "↑"}.get(flow.direction, flow.direction)
    sign = f" {SIGNS[figure.shown]}" if figure.shown in ORDER[:3] else ""
    return f"{way}\u202f{figure.written.replace('≤ ', '≤')}{sign}"


def figure_place(group: Sequence[Figure], tint: str = "") -> Place:
    """The figures of a cell together."""
    leading = leading_figure(group)
    parts = (f for f in group if f is not leading and (f.flow is not None or f.derived in OVER))
    return Place(FIGURE, (leading, *parts), leading.reason or "", tint)


def leading_figure(group: Sequence[Figure]) -> Figure:
    """The figure that stands for a place: the lone one, or the total of several flows."""
    return next((f for f in group if f.flow is None and f.derived not in OVER), group[0])
