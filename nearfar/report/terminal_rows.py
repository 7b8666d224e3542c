"""The table of a terminal's summary: verdict, question, figure, what was measured, its reference, and the share of it.

A row holds figures of one kind: the same class of path, the same question, as many flows at once, the same verdict. What is of
different kinds never shares a range.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import ORDER, columns, printable, shown_verdict
from nearfar.report.figures import FigureKind, figure_kinds, figures
from nearfar.verdict import CheckRecord, NodeRun

from .headline import check_line, short_name

_LEAST_WIDTH = 16
HEADING = ("verdict", "question", "figure", "measured", "reference", "share")

#: A check of a node, and its rows.
CheckRows = tuple[NodeRun, CheckRecord, list[FigureKind]]


def check_rows(check: CheckRecord) -> list[FigureKind]:
    """The figures of a check by kind: those that did not pass first, then by the smallest share; none where no figure has a
    reference."""
    rows = figure_kinds(figures(check, ""))
    if not any(f.reference for row in rows for f in row.figures):
        return []
    places = {id(row): place for place, row in enumerate(rows)}
    rows.sort(key=_importance)
    # What passes stands in the order of the run, as a reader expects it.
    return sorted(rows, key=lambda row: (_rank(row.first.verdict), row.passes and places[id(row)]))


def _rank(word: str) -> int:
    return ORDER.index(word) if word in ORDER[: ORDER.index("PASS")] else ORDER.index("PASS")


def _importance(row: FigureKind) -> tuple[int, bool, bool, bool, float]:
    """What did not pass; what has a reference, and is no input of the model; rates and times before what is made of them; then the
    farthest from its reference: the least share of a rate, the greatest of a time."""
    times = row.first.unit in ("us", "ms", "s")
    worst = min((1 / share if times else share for share in row.shares if share), default=1.0)
    made = bool(row.first.derived) and not times
    return _rank(row.first.verdict), not any(f.reference for f in row.figures), not row.shares, made, worst


def table(
    checks: Sequence[CheckRows], room: int | None, width: int | None, several: bool, every: bool
) -> tuple[list[tuple[str, str]], int]:
    """Lines with the verdict that each begins with, the heading first (none: no row), of a run's figures that did not pass (``every``:
    all), and how many kinds there was no room for.

    ``room``: rows at most, the worst (None: all); ``width``: columns (None: as many as it takes); ``several``: the node is one.
    """
    found = [(n, check, kind) for n, check, rows in checks for kind in rows if every or not kind.passes]
    worst_first = sorted(range(len(found)), key=lambda i: _rank(found[i][2].first.shown))
    chosen = [found[i] for i in sorted(worst_first[:room])]
    if not chosen:
        return [], 0
    last: CheckRecord | None = None
    rows = [[HEADING[0], *(["node"] if several else []), *HEADING[1:]]]
    for node, check, kind in chosen:
        names = _names(node, check, several)
        rows.append(
            [*map(printable, [kind.first.shown, *("" if check is last else name for name in names), *kind.cells])]
        )
        last = check
    return list(zip(_set(rows, width), ["", *(row[0] for row in rows[1:])])), len(found) - len(chosen)


def sentences(checks: Sequence[CheckRows], several: bool) -> list[str]:
    """The answer of each check without a figure that has a reference, a line each."""
    return columns([
        [shown_verdict(check.word, node.modelled), *_names(node, check, several), printable(check_line(check, node))]
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
