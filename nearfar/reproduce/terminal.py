"""A paper beside model and site for a terminal; the list of all papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nearfar.base import columns

from . import words
from .paper_files import STATES, Paper, PaperRow
from .rows_beside import RowBeside
from .this_site import ThisSite

_LONGEST_NAME = 44


def lines(paper: Paper, rows: Sequence[RowBeside], site: ThisSite | None) -> list[str]:
    """Every row, in lines."""
    lines = [f"{paper.name}: {paper.title}", words.counts(list(rows))]
    if site is not None:
        lines.append(f"this site: {site.name}; {words.site_counts(list(rows))}")
        if not any(figure.compared for row in rows for figure in row.figures):
            lines.append(
                "it is of another kind than the paper's nodes: paths of the same sort stand beside, and rates are not compared"
            )
    for row in rows:
        lines += ["", *_row(row, site is not None)]
    return lines + _meanings(rows)


def _meanings(rows: Sequence[RowBeside]) -> list[str]:
    """What the words of the column "the model" mean, of those that stand there."""
    used = {figure.basis for row in rows for figure in row.figures if figure.modelled is not None}
    lines = [f'  "{word}": {meaning}' for word, meaning in words.OF_THE_MODEL.items() if word in used]
    rest = "  without such a word: its own answer, beside what was published"
    return ["", "the model", *lines, rest] if lines else []


def _row(shown: RowBeside, measured: bool) -> Iterator[str]:
    row = shown.row
    yield f"{row.id}. {row.place}: {row.what}"
    if shown.figures:
        table = columns(_figures(shown, measured), right=[1, 2, 3] if measured else [1, 2])
        yield from (f"   {line}" for line in table)
    if row.impossible:
        yield f"   cannot be as printed: {row.impossible}"
    if row.remark:
        yield f"   note: {row.remark}"
    if shown.model_says:
        yield f"   the model: {shown.model_says}"
    if shown.site_says:
        yield f"   this site: {shown.site_says}"
    for check, verdict, line in shown.said:
        yield f"   this site: {check}: {verdict}: {line}"
    if shown.site_because and row.command:
        yield f"   not asked here, because {shown.site_because}"
    yield f"   {_asked(row)}"


def _figures(row: RowBeside, measured: bool) -> list[tuple[str, ...]]:
    unit = row.row.unit
    table: list[tuple[str, ...]] = [
        (words.unit(unit) or "figure", "published", "modelled", "this site", "the model", "this site beside it")
    ]
    for figure in row.figures:
        name = figure.published.name
        numbers = [
            words.published(figure.published),
            words.modelled(figure, unit),
            words.amount(figure.measured, unit),
        ]
        beside = words.difference(figure, row.row) if row.measured else ""
        table.append(
            (
                name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…",
                *numbers,
                words.model(figure, unit),
                beside,
            )
        )
    return table if measured else [(*line[:3], line[4]) for line in table]


def _asked(row: PaperRow) -> str:
    if not row.command:
        return f"not asked, because {row.not_asked}"
    return f"asked by: {row.command}{f' (not: {row.lacks})' if row.lacks else ''}"


def list_lines(known: Mapping[str, Paper]) -> list[str]:
    """The papers with the number of their rows by state, and each row once."""
    listed = listing(known)
    table: list[tuple[str, ...]] = [("paper", "rows", *STATES, "title")]
    for name, paper in listed["papers"].items():
        table.append((name, str(paper["rows"]), *(str(paper[state]) for state in STATES), paper["title"]))
    table.append(("each row once", str(listed["rows"]), *(str(listed[state]) for state in STATES), ""))
    return columns(table, right=[1, 2, 3, 4])


def listing(known: Mapping[str, Paper]) -> dict[str, Any]:
    """``nearfar-reproduce-list/1``."""
    every = {row.id: row for paper in known.values() for row in paper.rows}
    papers = {
        name: {"title": paper.title, "rows": len(paper.rows), **_by_state(paper.rows)} for name, paper in known.items()
    }
    return {"schema": "nearfar-reproduce-list/1", "papers": papers, "rows": len(every), **_by_state(every.values())}


def _by_state(rows: Any) -> dict[str, int]:
    counts = Counter(row.state for row in rows)
    return {state: counts[state] for state in STATES}
