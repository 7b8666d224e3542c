"""A paper's rows as three columns: what was published, what the model says, what a run of this site measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.cells import Cell
from nearfar.model.prediction import NodeType, Prediction, check_endpoints, load_node_type, predict
from nearfar.report import check_line

from .paper_files import Paper, PaperRow
from .published_figures import PEAK, Asked, PublishedFigure
from .this_site import SiteFigure, ThisSite
from .unmeasured_answers import by_model, here

#: Bases of predictions from the most to the least certain; a figure made of several has the least certain of them.
_BASES = ("input", "assumed", "predicted", "upper bound", "nominal")
#: The basis of a figure of the node type's own that stands elsewhere in the publications, with another value.
ANOTHER_INPUT = "another input"
#: A model's figure that differs by less, as a part, from the published one was made from it.
_SAME = 1e-6


@dataclass(frozen=True)
class FigureBeside:
    """A published figure beside the model's and the site's, in the row's unit. ``basis`` is the prediction's; ``compared``: the site's
    node is of the paper's kind."""

    published: PublishedFigure
    modelled: float | None
    basis: str
    site: SiteFigure
    compared: bool

    @property
    def measured(self) -> float | None:
        """This site's value."""
        return self.site.value

    @property
    def difference(self) -> float | None:
        """Measured, else modelled, over published, less 1; None of an input of the model, and of another kind of node."""
        published = self.published.value
        if not published:
            return None
        if self.measured is not None:
            return self.measured / published - 1 if self.compared else None
        return None if self.modelled is None or self.basis in ("input", "of inputs") else self.modelled / published - 1


@dataclass(frozen=True)
class RowBeside:
    """A row with its figures. ``model_says``: what ``nearfar predict`` of its command answers; ``said``: what the run's checks of it say in
    a line each, (check, verdict, line); ``site_says``: what other commands of it say of this site's node; ``site_because``: why this
    site has nothing of it, empty where it has, or where no run was named."""

    row: PaperRow
    figures: tuple[FigureBeside, ...]
    model_says: str = ""
    said: tuple[tuple[str, str, str], ...] = ()
    site_says: str = ""
    site_because: str = ""

    @property
    def measured(self) -> bool:
        """Whether this site has any figure of it."""
        return any(figure.measured is not None for figure in self.figures)


def beside(paper: Paper, directories: Sequence[Path], site: ThisSite | None = None) -> list[RowBeside]:
    """Every row of a paper with what the model says, and what a node of a run measured."""
    rows = {row.id: row for row in paper.rows}
    names = dict.fromkeys(figure.node_type for row in paper.rows for figure in row.figures if figure.node_type)
    types = {name: load_node_type(name, directories) for name in names}
    for row in paper.rows:
        for figure in row.figures if row.node_type else ():
            for cell in (*figure.asked.cells, *figure.against.cells):
                where = f"{row.paper}: row {row.id}: node type {figure.node_type}"
                check_endpoints(types[figure.node_type].node, cell, where)
    return [_row(row, rows, types, site, by_model(row, directories)) for row in paper.rows]


def _row(
    row: PaperRow, rows: Mapping[int, PaperRow], types: Mapping[str, NodeType], site: ThisSite | None, model_says: str
) -> RowBeside:
    figures = []
    for figure in row.figures:
        node_type = types.get(figure.node_type)
        modelled, basis = (None, "") if node_type is None else _modelled(figure, node_type)
        answer = SiteFigure() if site is None else site.answer(figure, row, node_type, rows)
        alike = site is not None and site.is_of_kind(node_type)
        figures.append(FigureBeside(figure, modelled, basis, answer, alike))
    if site is None:
        return RowBeside(row, tuple(figures), model_says)
    run = site.run
    check_lines = tuple((r.name, r.word, check_line(r, run)) for r in site.records(row)) if run is not None else ()
    site_says = here(row, site.node)
    because = _because(row, figures, check_lines)
    if not (because or check_lines or site_says or model_says):
        because = f"{' '.join(row.command.split()[:2])} measures nothing"
    return RowBeside(row, tuple(figures), model_says, check_lines, site_says, because)


def _because(row: PaperRow, figures: Sequence[FigureBeside], check_lines: Sequence[tuple[str, str, str]]) -> str:
    """Why this site has nothing of a row; empty where it has something."""
    if not row.command:
        return row.not_asked
    if any(figure.measured is not None for figure in figures):
        return ""
    reasons = list(dict.fromkeys(figure.site.because for figure in figures if figure.site.because))
    if reasons:
        return "; ".join(reasons)
    ran = {check for check, _, _ in check_lines}
    not_run = [check for check in row.checks if check not in ran]
    return f"this run did not ask {' and '.join(not_run)}" if not_run else ""


def _modelled(figure: PublishedFigure, node_type: NodeType) -> tuple[float | None, str]:
    """The model's value in the figure's unit, and how certain it is."""
    metric = figure.asked.metric
    if metric is not None and metric.which == PEAK:
        capacity = node_type.capacities.get(metric.pattern)
        best = None if capacity is None else capacity.best
        return best, "input" if best == figure.value else "nominal"
    if not figure.asked.cells:
        return None, ""
    total = _total(figure.asked, node_type)
    if total is None:
        return None, ""
    if not figure.against:
        published = figure.value
        differs = published is not None and not math.isclose(total[0], published, rel_tol=_SAME)
        return total[0], ANOTHER_INPUT if total[1] == "input" and differs else total[1]
    other = _total(figure.against, node_type)
    if other is None or not other[0]:
        return None, ""
    basis = max(total[1], other[1], key=_BASES.index)
    return (1 - total[0] / other[0]) * 100, "of inputs" if basis == "input" else basis


def _total(asked: Asked, node_type: NodeType) -> tuple[float, str] | None:
    predictions = [_prediction(cell, node_type) for cell in asked.cells]
    known = [(p.total, p.basis) for p in predictions if p is not None and p.total is not None]
    if not known or len(known) < len(predictions):
        return None
    return sum(total for total, _ in known), max((basis for _, basis in known), key=_BASES.index)


def _prediction(cell: Cell, node_type: NodeType) -> Prediction | None:
    try:
        return predict(cell, node_type)
    except NearfarError:
        return None
