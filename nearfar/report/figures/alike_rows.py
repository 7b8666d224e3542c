"""The rows of a check's table of figures: where they are many, those that are alike are one row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import NOT_JUDGED, grouped, statistics
from nearfar.cells import pretty

from .check_figures import Figure, worst_first
from .wording import span, unit_words

#: A check of no more figures has a row for each.
MOST_ROWS = 60
#: As near to the median of their kind, a part of 1, figures are alike.
_ALIKE = 0.02
_LEAST = 3
_NUMBERS = re.compile(r"\d+")
_TROUBLE = ("FAIL", "DEGRADED", "INDETERMINATE")


@dataclass(frozen=True)
class FigureRow:
    """A figure with all that is known of it; ``alike``: that it stands for these, itself among them (empty: for itself alone)."""

    figure: Figure
    alike: tuple[Figure, ...] = ()

    @property
    def span(self) -> str:
        """The lowest and the highest of those that are alike, with their unit; of upper bounds as one is written."""
        if self.figure.best_case:
            return self.figure.written
        values = span((f.value for f in self.alike if f.value is not None), self.figure.unit)
        return f"{values} {unit_words(self.figure.unit)}".rstrip()

    @property
    def each(self) -> str:
        """Those that are alike with their values; flows of one cell together: ``at once: n0→g0 24.6, n0→g1 24.7 beside n0→g2``."""
        groups = grouped((figure.cell if figure.flow is not None else None, figure) for figure in self.alike)
        words = []
        for cell, mine in groups.items():
            if cell is None or len(mine) == 1:
                words += [f"{figure.pretty}\u00a0{figure.written}" for figure in mine]
                continue
            flows = {f.flow: f"{pretty(f.flow)}\u00a0{f.written}" for f in mine if f.flow}
            others = " + ".join(pretty(flow) for flow in cell.flows if flow not in flows)
            words.append(f"at once: {', '.join(flows.values())}{f' beside {others}' if others else ''}")
        return "; ".join(words)


def figure_rows(found: Sequence[Figure]) -> list[FigureRow]:
    """The worst first. Of more than ``MOST_ROWS`` figures three or more of one kind within 2 % of their median become one row, which
    shows the one nearest to it; a figure that did not pass, was looked at again or has something of its own to say never does."""
    if len(found) <= MOST_ROWS:
        return [FigureRow(figure) for figure in worst_first(found)]
    kinds: dict[tuple[object, ...], list[Figure]] = {}
    for figure in worst_first(found):
        said = figure.looks or (figure.reason and figure.verdict != NOT_JUDGED)
        plain = figure.shown not in _TROUBLE and figure.value is not None and not said
        own = () if plain and figure.converged and figure.verified is not False else (figure.anchor,)
        origin = figure.reference and (figure.reference.origin, figure.reference.note)
        # What limits like figures is alike, each its own part: g0.out, g1.in here and g2.out, g3.in there.
        limits = tuple(sorted({_NUMBERS.sub("", name) for name in figure.limited_by}))
        kind = figure.shown, figure.class_in_name, figure.question, figure.quantity, figure.unit, figure.bytes
        kind = *kind, figure.flow is None, limits, figure.basis, origin, bool(figure.beside), *own
        kinds.setdefault(kind, []).append(figure)
    rows: list[FigureRow] = []
    for members in kinds.values():
        middle = statistics.median([figure.value or 0.0 for figure in members])
        alike = [f for f in members if f.value is not None and abs(f.value - middle) <= _ALIKE * abs(middle)]
        if len(alike) < _LEAST:
            rows += map(FigureRow, members)
            continue
        nearest = min(alike, key=lambda f: abs((f.value or 0.0) - middle))
        rows.append(FigureRow(nearest, tuple(alike)))
        rows += [FigureRow(figure) for figure in members if figure not in alike]
    return rows
