"""Figures and their differences in the words that the terminal, the page and the document share."""

from __future__ import annotations

import math

from nearfar.base import plural
from nearfar.report.figures import number, percent, unit_words

from .paper_files import STATES, PaperRow
from .published_figures import PublishedFigure
from .rows_beside import FigureBeside, RowBeside

#: From so many times the published figure on, either way, words say how many times.
_TIMES = 1.5
#: A rate that differs by less, as a part, does not stand out.
_SLIGHT = 0.02
#: A loss of less than so many percent is none to speak of.
_NOTHING = 0.5
#: From so many published decimals on the model's figure has as many.
_FINE = 2
#: What the words beside the model's figures mean.
OF_THE_MODEL = {
    "input": "the model was made from this very figure, and agrees with itself",
    "another input": "the model's own figure of this cell, published elsewhere with another value",
    "of inputs": "derived from inputs, as a loss in percent",
    "assumed": "taken from a part of the same kind in the node, or limited by a capacity of kind: assumed",
    "upper bound": "something that nobody published may limit it more",
    "nominal": "an upper bound, by the nominal rate of a link or a memory",
}


def unit(text: str) -> str:
    """The unit behind a number: ``%``, ``µs``, ``GB/s``."""
    return "%" if text == "percent" else unit_words(text)


def published(figure: PublishedFigure) -> str:
    """A published figure as printed, a dash where the source gives no number."""
    return "–" if figure.value is None else f"{figure.value:.{figure.decimals}f}"


def amount(value: float | None, of: str) -> str:
    """A figure of the model or of this site."""
    if value is not None and of == "percent":
        return f"{value:.{0 if abs(value) >= 10 else 1}f}".replace("-", "−")
    return number(value, of)


def modelled(figure: FigureBeside, of: str) -> str:
    """The model's figure in the unit ``of``, with no fewer decimals than the published one beside it."""
    decimals = figure.published.decimals
    if figure.modelled is None or of == "percent" or decimals < _FINE:
        return amount(figure.modelled, of)
    return f"{figure.modelled:.{decimals}f}"


def tolerance(figure: PublishedFigure, row: PaperRow) -> str:
    """How far one may be from a figure by its source: ``±3 %``, ``±0.05 (last digit)``."""
    if figure.tolerance is None:
        return ""
    return f"±{row.tolerance:g} %" if row.tolerance is not None else f"±{figure.tolerance:g} (last digit)"


def difference(figure: FigureBeside, row: PaperRow) -> str:
    """This site's figure beside the published one: ``as published``, ``4.2 % below the paper's``, ``1.9 times the paper's``; why there is
    none; empty where no run was named."""
    value, here = figure.published.value, figure.measured
    if here is None:
        return figure.site.because
    if value is None or figure.published.tolerance is None:
        return "no number is published"
    if abs(here - value) <= figure.published.tolerance:
        return "as published" if figure.compared else "as much as the paper's"
    if figure.published.unit == "percent":
        return _in_points(value, here, bool(figure.published.against))
    if here <= 0 or value <= 0:
        return ""
    if here / value >= _TIMES or value / here >= _TIMES:
        return _times(here / value)
    return f"{abs(here / value - 1) * 100:.1f} % {'above' if here > value else 'below'} the paper's"


def _in_points(value: float, here: float, loss: bool) -> str:
    if loss and here < _NOTHING:
        return "next to nothing is lost here"
    points = abs(here - value)
    text = f"{points:.{0 if points >= 10 else 1}f} points {'more' if here > value else 'less'}"
    if here > 0 and (here / value >= _TIMES or value / here >= _TIMES):
        text += f": {_times(here / value)}"
    return text


def _times(ratio: float) -> str:
    """``1.9 times the paper's``, ``150 times``: two digits."""
    digits = max(0, 1 - math.floor(math.log10(ratio)))
    return f"{round(ratio, 1 - math.floor(math.log10(ratio))):.{digits}f} times the paper's"


def model(figure: FigureBeside, of: str) -> str:
    """The model's figure beside the published one, both in the unit ``of``: ``input``, ``as published``, ``+5.6 %, upper bound``,
    ``1.1 points less``."""
    value = figure.published.value
    if figure.modelled is None:
        return ""
    if figure.basis in ("input", "of inputs") or value is None or figure.published.tolerance is None:
        return figure.basis
    certain = "" if figure.basis == "predicted" else f", {figure.basis}"
    # An upper bound agrees with nothing.
    if figure.basis not in ("upper bound", "nominal") and abs(figure.modelled - value) <= figure.published.tolerance:
        return f"as published{certain}"
    apart = _in_points(value, figure.modelled, False) if of == "percent" else percent(figure.modelled / value - 1)
    return f"{apart}{certain}"


def counts(rows: list[RowBeside]) -> str:
    """``22 rows: 13 done, 4 in part, 5 not run``."""
    by_state = [(name, sum(row.row.state == name for row in rows)) for name in STATES]
    return f"{plural(len(rows), 'row')}: " + ", ".join(f"{count} {name}" for name, count in by_state)


def site_counts(rows: list[RowBeside]) -> str:
    """How many of the published figures have a counterpart on this site, and how many of those are as published."""
    figures = [(figure, r.row) for r in rows for figure in r.figures if figure.published.value is not None]
    measured = [(figure, row) for figure, row in figures if figure.measured is not None]
    compared = [figure for figure, _ in measured if figure.compared]
    if not measured:
        return f"none of the {plural(len(figures), 'published figure')} has a counterpart here"
    text = f"{len(measured)} of {plural(len(figures), 'published figure')} {'has' if len(measured) == 1 else 'have'} a counterpart here"
    if not compared:
        return text
    same = sum(_within(figure) for figure in compared)
    return f"{text}; {same} of {len(compared)} on a node of the paper's kind are as published"


def _within(figure: FigureBeside) -> bool:
    value, here, around = figure.published.value, figure.measured, figure.published.tolerance
    return None not in (value, here, around) and abs(float(here or 0) - float(value or 0)) <= float(around or 0)


def stands_out(rows: list[RowBeside], most: int = 8) -> list[str]:
    """What a reader wants to know first: losses and other percentages beside the paper's, then what differs on a node of its kind."""
    sentences = []
    for beside in rows:
        for figure in beside.figures:
            value, here = figure.published.value, figure.measured
            if value is None or here is None or _within(figure):
                continue
            own = figure.published.unit
            if own == "percent" or (figure.compared and abs(here / value - 1) >= _SLIGHT):
                of = unit(own)
                values = f"{amount(here, own)} {of} here, {published(figure.published)} {of} published"
                sentences.append(
                    (
                        own != "percent",
                        f"{beside.row.place}, {figure.published.name}: {values}: {difference(figure, beside.row)}",
                    )
                )
    return [sentence for _, sentence in sorted(sentences, key=lambda entry: entry[0])][:most]
