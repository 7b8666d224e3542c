"""What a row shows that is a figure in the source: totals over the number of GPUs, bandwidth over the size of a transfer, and the parts of
an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from markupsafe import Markup

from nearfar.cells import Cell
from nearfar.mpi import load_balance
from nearfar.report.blocks import Chart, Table
from nearfar.report.charts import curves as drawn
from nearfar.report.figures import figures
from nearfar.report.sections import curves_over_size, subject_tables

from .rows_beside import FigureBeside, RowBeside
from .this_site import ThisSite

#: Of so many numbers of GPUs a table is a curve.
_STEPS = 3


def curves(beside: RowBeside, site: ThisSite | None) -> Iterator[Chart | Table]:
    """The curves and tables of a row; none where its figures are no curve."""
    yield from _ramps(beside)
    if site is None:
        return
    for record in site.records(beside.row):
        for each in (
            subject_tables(figures(record, ""), record.document) if load_balance.results(record.document) else ()
        ):
            if isinstance(each, Table):
                yield replace(each, caption=site.name)
        for titled in curves_over_size(figures(record, ""), record.document):
            if "GPU" not in titled.title:  # the papers' curves are of host memory and a GPU
                yield Chart(titled.drawing, caption=f"{site.name}, over the size of a transfer: {titled.title}")


def _ramps(beside: RowBeside) -> Iterator[Chart]:
    steps = [(step, figure) for figure in beside.figures if (step := _step(figure)) is not None]
    if _longest(steps) < _STEPS:
        return
    published = _totals(steps, lambda figure: figure.published.value, lambda figure: figure.modelled)
    yield Chart(published, caption="published; hollow: the model")
    if _longest([(step, figure) for step, figure in steps if figure.measured is not None]) > 1:
        yield Chart(_totals(steps, lambda figure: figure.measured, lambda figure: None), caption="this site")


def _longest(steps: list[tuple[tuple[str, int], FigureBeside]]) -> int:
    """The most numbers of GPUs that one way has."""
    return max((len({gpus for (way, gpus), _ in steps if way == side}) for side in ("h2d", "d2h", "both")), default=0)


def _totals(
    steps: list[tuple[tuple[str, int], FigureBeside]],
    value: Callable[[FigureBeside], float | None],
    expected: Callable[[FigureBeside], float | None],
) -> Markup:
    series: dict[str, list[tuple[int, float, float | None]]] = {}
    for (way, gpus), figure in steps:
        total = value(figure)
        if total is not None:
            series.setdefault(way, []).append((gpus, total, expected(figure)))
    return drawn.totals(series)


def _step(figure: FigureBeside) -> tuple[str, int] | None:
    """The way and the number of GPUs of plain copies to or from host memory; None of any other figure."""
    cells: tuple[Cell, ...] = figure.published.asked.cells
    if len(cells) != 1 or any(flow.kind != "host" or flow.options for flow in cells[0].flows):
        return None
    ways = {flow.direction for flow in cells[0].flows}
    return "both" if len(ways) > 1 else ways.pop(), len({gpu for flow in cells[0].flows for gpu in flow.gpus})
