"""The table of a terminal's summary: verdict, question, figure, what was measured, its reference, and the share of it.

A row holds figures of one kind: the same class of path, the same question, as many flows at once, the same verdict. What is of
different kinds never shares a range.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NOT_JUDGED, ORDER, columns, printable, shown_verdict
from nearfar.cells import Cell
from nearfar.measurement import RATIO
from nearfar.report.figures import Figure, best_case_of, class_words, figures, span, unit_words
from nearfar.verdict import CheckRecord, NodeRun

from .headline import check_line, short_name

#: Cells that are named in a row of figures that did not pass.
_NAMED = 2
_LEAST_WIDTH = 16
_WAYS = {
    "h2d": "H2D", "d2h": "D2H", "both.total": "both", "write.staged": "staged", "d2d": "copy",
}  # fmt: skip
_DERIVED = {
    "latency_copy": "tiny copy", "latency_chase": "load", "latency_launch": "launch", "over_near": "over near",
    "half_bandwidth": "size of half the rate", "tail_p99": "99th percentile", "tail_worst": "slowest over its median",
}  # fmt: skip
#: The class that all host paths of a node have, which says nothing more.
_ONLY_CLASS = "sole"
_ENDS = re.compile(r"[cgn]\d+_[cgn]\d+")
HEADING = ("verdict", "question", "figure", "measured", "reference", "share")


@dataclass(frozen=True)
class LikeFigures:
    """Figures of one kind and verdict."""

    figures: tuple[Figure, ...]

    @property
    def first(self) -> Figure:
        """Any of them stands for what they are."""
        return self.figures[0]

    @property
    def passes(self) -> bool:
        """Whether nothing is to be said against them."""
        return self.first.shown not in ("FAIL", "INDETERMINATE", "DEGRADED")

    @property
    def shares(self) -> list[float]:
        """The values over their references', inputs of a model left out."""
        return [f.share for f in self.figures if f.share is not None and f.basis not in ("input", "assumed")]

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Figure, measured, reference and share, as they stand in the table."""
        first, unit = self.first, unit_words(self.first.unit)
        named = [f.pretty for f in self.figures if f.cell is not None] if not self.passes else []
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        label = f"{_kind_words(first)}{': ' if named else ''}{', '.join(named[:_NAMED])}{more}"
        measured = span((f.value for f in self.figures if f.value is not None), first.unit)
        best = best_case_of(self.figures)
        expected = [f.expected for f in self.figures if f.expected is not None]
        shares = sorted(self.shares)
        low, high = (f"{100 * shares[0]:.0f}", f"{100 * shares[-1]:.0f}") if shares else ("", "")
        share = f"{low if low == high else f'{low}–{high}'} %" if shares else "input" if expected else ""
        return (
            label,
            " ".join(filter(None, [measured, unit, best])),
            span(expected, first.unit) if expected else "none",
            share,
        )


#: A check of a node, and its rows.
CheckRows = tuple[NodeRun, CheckRecord, list[LikeFigures]]


def check_rows(check: CheckRecord) -> list[LikeFigures]:
    """The figures of a check by kind: those that did not pass first, then by the smallest share; none where no figure has a
    reference. Parts of a total, and figures that explain others, stand for nothing here."""
    kinds: dict[tuple[object, ...], list[Figure]] = {}
    for figure in figures(check, ""):
        part = figure.flow is not None and figure.cell is not None and not figure.cell.lone
        if figure.value is None or figure.explains or (part and figure.shown in ("PASS", "MODELLED", NOT_JUDGED)):
            continue
        kinds.setdefault((_kind_words(figure), figure.unit, figure.shown), []).append(figure)
    rows = [LikeFigures(tuple(found)) for found in kinds.values()]
    if not any(f.reference for row in rows for f in row.figures):
        return []
    places = {id(row): place for place, row in enumerate(rows)}
    rows.sort(key=_importance)
    # What passes stands in the order of the run, as a reader expects it.
    return sorted(rows, key=lambda row: (_rank(row.first.verdict), row.passes and places[id(row)]))


def _rank(word: str) -> int:
    return ORDER.index(word) if word in ORDER[: ORDER.index("PASS")] else ORDER.index("PASS")


def _importance(row: LikeFigures) -> tuple[int, bool, bool, bool, float]:
    """What did not pass; what has a reference, and is no input of the model; rates and times before what is made of them; then the
    farthest from its reference: the least share of a rate, the greatest of a time."""
    times = row.first.unit in ("us", "ms", "s")
    worst = min((1 / share if times else share for share in row.shares if share), default=1.0)
    made = bool(row.first.derived) and not times
    return _rank(row.first.verdict), not any(f.reference for f in row.figures), not row.shares, made, worst


def _kind_words(figure: Figure) -> str:
    """``near H2D``, ``NV18 both``, ``H2D at once, 4 GPUs``, ``NV18 tiny copy``."""
    cell = figure.cell
    klass = "" if figure.path_class == _ONLY_CLASS else class_words(figure.path_class)
    if cell is None:
        asked = " ".join(part for part in figure.question.split(".") if not _ENDS.fullmatch(part))
        return f"{klass} {asked.replace('_', ' ')}{' ratio' if figure.quantity == RATIO else ''}".strip()
    question = _WAYS.get(figure.question, figure.question)
    pattern, _, what = figure.question.partition(".")
    part = figure.flow is not None and not cell.lone
    if pattern == "all":
        question = f"STREAM {cell.flows[0].direction}, all at once"
    elif figure.quantity == "stream":
        question = f"STREAM {figure.question}"
    elif part:
        question = f"{_WAYS.get(what, what)} of {pattern}"
    elif what == "total" and pattern != "both":
        question = f"{_pattern_words(pattern, cell)}, {len(cell.gpus)} GPUs"
    question = re.sub(r"[._]", " ", question)
    question = re.sub(r"^(h2d|d2h)\b", lambda way: way[0].upper(), question)
    if figure.derived:
        done = _DERIVED.get(figure.derived, figure.derived.replace("_", " "))
        question = done if figure.derived.startswith("latency_") else f"{question} {done}"
    return f"{klass} {question}".strip()


def _pattern_words(pattern: str, cell: Cell) -> str:
    """``H2D``, ``both``, ``all to one`` of flows of several GPUs at once."""
    if pattern != "together":
        return pattern.replace("_", " ")
    ways = {flow.direction for flow in cell.flows}
    return _WAYS.get(ways.pop(), pattern) if len(ways) == 1 else "both"


@dataclass(frozen=True)
class SummaryTable:
    """``lines``, the heading first (none: no row); ``words``: the verdict that each line begins with (empty: none); ``hidden``: how many
    kinds of figures there was no room for."""

    lines: tuple[str, ...]
    words: tuple[str, ...]
    hidden: int


def table(checks: Sequence[CheckRows], room: int | None, width: int | None, several: bool, every: bool) -> SummaryTable:
    """The figures of a run's checks that did not pass; ``every``: all.

    ``room``: rows at most, the worst (None: all); ``width``: columns (None: as many as it takes); ``several``: the node is one.
    """
    found = [(n, check, kind) for n, check, rows in checks for kind in rows if every or not kind.passes]
    worst_first = sorted(range(len(found)), key=lambda i: _rank(found[i][2].first.shown))
    chosen = [found[i] for i in sorted(worst_first[:room])]
    if not chosen:
        return SummaryTable((), (), 0)
    rows: list[list[str]] = []
    told: set[tuple[Path, str]] = set()
    for node, check, kind in chosen:
        first, names = (node.folder, check.name) not in told, _names(node, check, several)
        told.add((node.folder, check.name))
        rows.append([*map(printable, [kind.first.shown, *(names if first else ("" for _ in names)), *kind.cells])])
    heading = [HEADING[0], *(["node"] if several else []), *HEADING[1:]]
    return SummaryTable(tuple(_set([heading, *rows], width)), ("", *(row[0] for row in rows)), len(found) - len(chosen))


def sentences(checks: Sequence[CheckRows], several: bool) -> list[str]:
    """The answer of each check without a figure that has a reference, a line each."""
    return columns([
        [_word(node, check), *_names(node, check, several), printable(check_line(check, node))]
        for node, check, rows in checks if not rows
    ])  # fmt: skip


def _names(node: NodeRun, check: CheckRecord, several: bool) -> list[str]:
    return [*([node.name] if several else []), short_name(check.name)]


def _set(rows: Sequence[list[str]], width: int | None) -> list[str]:
    """The columns; names of figures are shortened where a line were wider than ``width``."""
    place = len(rows[0]) - len(HEADING) + 2
    right = range(place + 1, len(rows[0]))
    over = 0 if width is None else max(map(len, columns(rows, right))) - width
    longest = max(len(row[place]) for row in rows)
    most = max(_LEAST_WIDTH, longest - max(0, over))
    for row in rows:
        if len(row[place]) > most:
            row[place] = f"{row[place][: most - 1].rstrip(' ,:')}…"
    return columns(rows, right)


def _word(node: NodeRun, check: CheckRecord) -> str:
    return shown_verdict(check.word, node.modelled)
