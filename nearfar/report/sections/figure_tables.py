"""Every figure of a node's checks with all that is known of it, and the cells that have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from nearfar import cells
from nearfar.base import NOT_JUDGED, ORDER, grouped, listed
from nearfar.report.blocks import Block, Entry, Group, Row, Table, row, table
from nearfar.report.figures import SIGNS, Figure, FigureKind, class_words, flow_words, number, plural, unit_words

from .unmeasured import Gap

#: So many rows of a check stand open, and more do not print.
_OPEN, _LONG = 24, 60
#: Of a figure so many capacities that limit it are named, and so many letters of its name.
_LIMITS, _NAME = 3, 120
_STATES = {"failed": f"{SIGNS['FAIL']} failed", "skipped": "– skipped", "missing": f"{SIGNS['INDETERMINATE']} missing"}
#: The figures of a row: that which is shown first.
FigureRow = tuple[Figure, ...]
Checks = Sequence[tuple[str, Sequence[FigureRow], Sequence[Gap]]]


def every_figure(checks: Checks) -> list[Block]:
    """A table for each check (title, rows, gaps), below the notes on its references."""
    noted = (row[0].reference for _, rows, _ in checks for row in rows)
    notes = {note: at for at, note in enumerate(dict.fromkeys(r.note for r in noted if r and r.note), 1)}
    blocks: list[Block] = []
    if notes:
        listed = [row(Entry(f"note {at}", mark="tight"), note) for note, at in notes.items()]
        blocks.append(Group("Notes on the references", (table((), listed),)))
    return [*blocks, *(_check(*each, notes) for each in checks if each[1] or each[2])]


def _check(title: str, rows: Sequence[FigureRow], gaps: Sequence[Gap], notes: Mapping[str, int]) -> Group:
    count = sum(map(len, rows))
    words = [plural(count, "figure") if rows else "no figure"]
    words += [f"{plural(sum(len(gap.cells) for gap in gaps), 'cell')} without one"] if gaps else []
    shown = [_table(rows, notes)] if rows else []
    shown += [table(("no figure", "cells", "why"), map(_gap, gaps))] if gaps else []
    folded, kind = not 0 < len(rows) <= _OPEN, "long" if count > _LONG else ""
    return Group(f"{title}: every figure", tuple(shown), ", ".join(words), folded, kind=kind)


def _table(rows: Sequence[FigureRow], notes: Mapping[str, int]) -> Table:
    figures = [figure for row in rows for figure in row]
    columns = ["verdict", "cell", "class", ">value", ">of its reference", "expected"]
    columns += ["ceiling"] if (ceilings := any(figure.ceiling for figure in figures)) else []
    columns += ["limited by"] if (limits := any(figure.limited_by for figure in figures)) else []

    def entries(each: FigureRow) -> Iterable[Entry | str]:
        figure, reference = each[0], each[0].reference
        yield Entry(verdict=figure.shown)
        yield _cell(each)
        yield class_words(figure.path_class)
        yield _value(figure)
        inputs = figure.published_beside and figure.basis == "input"
        yield "input" if inputs else "" if figure.share is None else f"{figure.share * 100:.1f} %"
        note = f"note {notes[reference.note]}" if reference and reference.note else ""
        yield Entry(figure.expected_words, tuple(filter(None, [figure.second_bound, note, figure.before])))
        if ceilings:
            part = (f"{100 * figure.value / figure.ceiling:.0f} %",) if figure.ceiling and figure.value else ()
            yield Entry(number(figure.ceiling, figure.unit) if figure.ceiling else "none known", part)
        if limits:
            yield Entry(listed(figure.limited_by, _LIMITS), mark="mono")

    def made(each: FigureRow) -> Row:
        return row(*entries(each), anchor=f"row.{each[0].anchor}" if each[0].shown in ORDER[:3] else "")

    return table(columns, map(made, rows), kind="figures")


def _cell(row: FigureRow) -> Entry:
    figure, several = row[0], len(row) > 1
    alike = (
        f"{len(row)} alike, {' '.join(filter(None, FigureKind(row).amount))}; nearest to their median: "
        if several
        else ""
    )
    part = figure.derived.replace("_", " ") if figure.is_ratio else "total" if figure.is_total else ""
    told = figure.reference or figure.shown not in (NOT_JUDGED, "MODELLED")
    reason = (figure.reason,) if figure.reason and told and not several else ()
    more = ("each of them", _each(row)) if several else ("", "")
    return Entry(f"{alike}{' '.join(filter(None, [figure.pretty, part]))} `{_name(figure)}`", reason, more=more)


def _name(figure: Figure) -> str:
    """The metric's; of a cell of many flows the beginning, and ``report.json`` has all of it."""
    return figure.name if len(figure.name) <= _NAME else f"{figure.name[:_NAME]}…"


def _each(alike: FigureRow) -> str:
    """Figures with their values; flows of one cell together: ``at once: n0→g0 24.6, n0→g1 24.7 beside n0→g2``."""
    words = []
    for cell, mine in grouped((figure.cell if figure.flow is not None else None, figure) for figure in alike).items():
        if cell is None or len(mine) == 1:
            words += [f"{figure.pretty}\u00a0{figure.written}" for figure in mine]
            continue
        flows = {f.flow: f"{cells.pretty(f.flow)}\u00a0{f.written}" for f in mine if f.flow}
        others = flow_words([flow for flow in cell.flows if flow not in flows])
        words.append(f"at once: {', '.join(flows.values())}{f' beside {others}' if others else ''}")
    return "; ".join(words)


def _value(figure: Figure) -> Entry:
    interval = "" if figure.interval is None or figure.n == 1 else "{:.2f}–{:.2f}".format(*figure.interval)
    unsettled = "" if figure.converged else "not converged"
    unverified = f"{SIGNS['FAIL']} data not verified" if not figure.verified and figure.basis != "foreign" else ""
    how = figure.bound_words or (figure.basis if figure.modelled else "")
    below = (
        f"{interval}, n {figure.n}" if interval and figure.n else interval, how, figure.steadiness_words, figure.look_words,
        figure.how, unsettled, unverified,
    )  # fmt: skip
    unit = unit_words(figure.unit) if figure.written != "unknown" else ""
    return Entry(f"{figure.written} {unit}".rstrip(), tuple(filter(None, below)))


def _gap(gap: Gap) -> Row:
    named = (
        Markup('<span id="row.{}">{}</span>' if anchor else "<span{}>{}</span>").format(anchor, what)
        for what, anchor in gap.cells
    )
    return row(
        Entry(_STATES[gap.state], mark="tight"), Entry(drawing=Markup(" ").join(named), mark="mono gaps"), gap.why
    )
