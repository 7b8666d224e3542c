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
    found = [f"{paper.name}: {paper.title}", words.counts(list(rows))]
    if site is not None:
        found.append(f"this site: {site.name}; {words.site_counts(list(rows))}")
        if not any(figure.compared for each in rows for figure in each.figures):
            found.append(
                "it is of another kind than the paper's nodes: paths of the same sort stand beside, and rates are not compared"
            )
    for each in rows:
        found += ["", *_row(each, site is not None)]
    return found + _meanings(rows)


def _meanings(rows: Sequence[RowBeside]) -> list[str]:
    """What the words of the column "the model" mean, of those that stand there."""
    used = {figure.basis for each in rows for figure in each.figures if figure.modelled is not None}
    told = [f'  "{word}": {meaning}' for word, meaning in words.OF_THE_MODEL.items() if word in used]
    return ["", "the model", *told, "  without such a word: its own answer, beside what was published"] if told else []


def _row(each: RowBeside, measured: bool) -> Iterator[str]:
    row = each.row
    yield f"{row.id}. {row.place}: {row.what}"
    if each.figures:
        yield from (f"   {line}" for line in columns(_figures(each, measured), right=[1, 2, 3] if measured else [1, 2]))
    if row.impossible:
        yield f"   cannot be as printed: {row.impossible}"
    if row.remark:
        yield f"   note: {row.remark}"
    if each.model_says:
        yield f"   the model: {each.model_says}"
    if each.site_says:
        yield f"   this site: {each.site_says}"
    for check, verdict, line in each.said:
        yield f"   this site: {check}: {verdict}: {line}"
    if each.site_because and row.command:
        yield f"   not asked here, because {each.site_because}"
    yield f"   {_asked(row)}"


def _figures(each: RowBeside, measured: bool) -> list[tuple[str, ...]]:
    unit = each.row.unit
    table: list[tuple[str, ...]] = [
        (words.unit(unit) or "figure", "published", "modelled", "this site", "the model", "this site beside it")
    ]
    for figure in each.figures:
        name = figure.published.name
        numbers = [
            words.published(figure.published),
            words.modelled(figure, unit),
            words.amount(figure.measured, unit),
        ]
        beside = words.difference(figure, each.row) if each.measured else ""
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
    for name, one in listed["papers"].items():
        table.append((name, str(one["rows"]), *(str(one[state]) for state in STATES), one["title"]))
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
