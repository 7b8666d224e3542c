"""A paper beside model and site as blocks: for a terminal and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.model.prediction import load_node_type
from nearfar.mpi import load_balance
from nearfar.report import title
from nearfar.report.blocks import Block, Chart, Entry, Group, Shown, Table, Text, row, table
from nearfar.report.charts import Findings, Mark, Scale, draw, strips
from nearfar.report.figures import figures
from nearfar.report.sections import curves_over_size, subject_tables

from . import words
from .paper_files import Paper, PaperRow
from .rows_beside import FigureBeside, RowBeside
from .this_site import ThisSite
from .unmeasured_answers import parts

_LONGEST_NAME = 44
_KEY = "Dark line: published, with the spread that its source names (else its last digit); diamond: the model; dot: this site."


def shown(
    paper: Paper, rows: Sequence[RowBeside], site: ThisSite | None, directories: Sequence[Path], command: str
) -> Shown:
    """Every row of the paper; ``command`` makes it again."""
    every = list(rows)
    compared = any(figure.compared for each in rows for figure in each.figures)
    said = [words.counts(every)]
    if site is not None:
        said.append(f"this site: {site.name}; {words.site_counts(every)}")
        if not compared:
            said.append(
                "it is a different kind of node than the paper's: similar paths are shown beside each other, but rates are not compared"
            )
    out = words.stands_out(every) if site is not None else []
    asked = [each for each in rows if each.row.command]
    blocks: list[Block] = [
        *([Text(tuple(out), "answer")] if out else []),
        _nodes(paper, site, directories),
        *(_row(each, site) for each in asked if each.figures),
        *(_row(each, site) for each in asked if not each.figures),
        *(_row(each, site) for each in rows if not each.row.command),
        *_meanings(rows),
    ]
    again = (
        f"`nearfar reproduce {paper.name} --measure` measures what this machine can, `--run DIR` uses an existing run"
    )
    made = f"`{command}`; `nearfar reproduce --list` counts the rows of all papers"
    return Shown(f"{paper.name}: {paper.title}", tuple(said), tuple(blocks), "" if site is not None else again, made)


def _nodes(paper: Paper, site: ThisSite | None, directories: Sequence[Path]) -> Group:
    """The node types that the paper speaks of, most rows first, then this site's node."""
    names = [each.node_type for each in paper.rows if each.node_type and each.paper == paper.name]
    types = [
        load_node_type(name, directories) for name in sorted(dict.fromkeys(names), key=lambda name: -names.count(name))
    ]
    charts = [
        Chart(draw(each.node, Findings()), each.name, f"{each.description}; {parts(each.node)}") for each in types
    ]
    if site is not None and site.node is not None:
        about = "; ".join(filter(None, [site.node.product or "", parts(site.node)]))
        charts.append(Chart(draw(site.node, Findings()), f"{site.name} (this site)", about, kind="here"))
    return Group("the nodes", tuple(charts), kind="machines", page_only=True)


def _row(one: RowBeside, site: ThisSite | None) -> Group:
    paper_row = one.row
    spread = (
        f"{words.tolerance(paper_row.figures[0], paper_row)}: {paper_row.tolerance_source}"
        if paper_row.tolerance_source
        else ""
    )
    note = " · ".join(filter(None, [paper_row.kind, paper_row.node_type, spread]))
    notes = [
        f"cannot be as printed: {paper_row.impossible}" if paper_row.impossible else "",
        f"note: {paper_row.remark}" if paper_row.remark else "",
        f"the model: {one.model_says}" if one.model_says else "",
        f"no prediction: {paper_row.unmodelled}" if paper_row.unmodelled else "",
        f"{'this site' if site is None else site.name}: {one.site_says}" if one.site_says else "",
        f"not measured here, because {one.site_because}" if one.site_because and paper_row.command else "",
        _asked(paper_row),
    ]
    said = [row(title(check), Entry(line, verdict=verdict)) for check, verdict, line in one.said]
    blocks: list[Block] = [
        Text((paper_row.what,), "what", plain=True),
        *(_curves(one, site) if one.figures else ()),
        *(_figures(one, unit) for unit in dict.fromkeys(figure.published.unit for figure in one.figures)),
        *([table((), said)] if said else []),
        Text(tuple(filter(None, notes))),
    ]
    return Group(
        f"{paper_row.id}. {paper_row.place}", tuple(blocks), note, anchor=f"row-{paper_row.id}", kind="paper-row"
    )


def _figures(one: RowBeside, of: str) -> Table:
    """The figures in the unit ``of``."""
    figures = [figure for figure in one.figures if figure.published.unit == of]
    unit = words.unit(of)
    known = [(each.published.value or 0.0) + (each.published.tolerance or 0.0) for each in figures]
    known += [value or 0.0 for each in figures for value in (each.modelled, each.measured)]
    scale = strips.halves(max(known), unit)
    columns = [unit or "figure", "", ">published", ">model", "the model"]
    columns += [">this site", "this site beside it"] if one.measured else []
    rows = [[Entry(), Entry(drawing=strips.axis(scale))] + [Entry()] * (len(columns) - 2)] if scale else []
    return table(columns, [*rows, *(_figure(figure, one, scale) for figure in figures)], kind="beside")


def _marks(figure: FigureBeside) -> Iterator[Mark]:
    """What was published with its tolerance, the model's, this site's."""
    value, around = figure.published.value, figure.published.tolerance or 0.0
    if value is not None:
        yield Mark("band", "tolerance", value - around, value + around, half=7)
    if figure.measured is not None:
        yield Mark("dot", "here", figure.measured, half=5)
    if value is not None:
        yield Mark("tick", "published", value, half=9)
    if figure.modelled is not None:
        yield Mark("diamond", "model", figure.modelled, half=5.5)


def _figure(figure: FigureBeside, one: RowBeside, scale: Scale | None) -> list[Entry]:
    name, unit = figure.published.name, figure.published.unit
    entries = [
        Entry(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…", tip=name),
        Entry(drawing=strips.strip(scale, _marks(figure)) if scale else None),
        Entry(words.published(figure.published)),
        Entry(words.modelled(figure, unit)),
        Entry(words.model(figure, unit), mark="muted model"),
    ]
    if one.measured:
        what = (figure.site.what,) if figure.measured is not None and figure.site.what else ()
        entries += [Entry(words.amount(figure.measured, unit)), Entry(words.difference(figure, one.row), what)]
    return entries


def _asked(paper_row: PaperRow) -> str:
    if not paper_row.command:
        figures = [f"{each.name} {words.published(each)}" for each in paper_row.figures if each.value is not None]
        published = f"; published: {', '.join(figures)} {words.unit(paper_row.unit)}".rstrip() if figures else ""
        return f"not covered, because {paper_row.not_asked}{published}"
    return f"measured by: `{paper_row.command}`{f' (not: {paper_row.lacks})' if paper_row.lacks else ''}"


def _meanings(rows: Sequence[RowBeside]) -> list[Block]:
    """What the words of the column "the model" mean, of those that stand there."""
    used = {figure.basis for each in rows for figure in each.figures if figure.modelled is not None}
    meant = [(word, meaning) for word, meaning in words.OF_THE_MODEL.items() if word in used]
    rest = "no word: the model's own prediction, compared with the published figure"
    return [Group("the model", (table((), meant), Text((rest, _KEY))))] if meant else []


def _curves(beside: RowBeside, site: ThisSite | None) -> Iterator[Chart | Table]:
    """The curves and tables of a row; none without such a run."""
    if site is None:
        return
    for record in site.records(beside.row):
        found = figures(record, "")
        if load_balance.results(record.document):
            tables = (each for each in subject_tables(found, record.document) if isinstance(each, Table))
            yield from (replace(each, caption=site.name) for each in tables)
        for titled in curves_over_size(found, record.document):
            if "GPU" not in titled.title:  # the papers' curves are of host memory and a GPU
                yield Chart(titled.drawing, caption=f"{site.name}, over the size of a transfer: {titled.title}")
