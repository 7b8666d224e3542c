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
    "at best": "something that nobody published may limit it more",
    "nominal": "at best, by the nominal rate of a link or a memory",
}
_OF_STATES = {"runs": "asked", "in part": "asked in part", "not asked": "not asked"}


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


def modelled(one: FigureBeside, of: str) -> str:
    """The model's figure in the unit ``of``, with no fewer decimals than the published one beside it."""
    decimals = one.published.decimals
    if one.modelled is None or of == "percent" or decimals < _FINE:
        return amount(one.modelled, of)
    return f"{one.modelled:.{decimals}f}"


def tolerance(figure: PublishedFigure, row: PaperRow) -> str:
    """How far one may be from a figure by its source: ``±3 %``, ``±0.05 (last digit)``."""
    if figure.tolerance is None:
        return ""
    return f"±{row.tolerance:g} %" if row.tolerance is not None else f"±{figure.tolerance:g} (last digit)"


def difference(one: FigureBeside, row: PaperRow) -> str:
    """This site's figure beside the published one: ``as published``, ``4.2 % below the paper's``, ``1.9 times the paper's``; why there is
    none; empty where no run was named."""
    said, here = one.published.value, one.measured
    if here is None:
        return one.site.because
    if said is None or one.published.tolerance is None:
        return "no number is published"
    if abs(here - said) <= one.published.tolerance:
        return "as published" if one.compared else "as much as the paper's"
    if row.unit == "percent":
        return _in_points(said, here, bool(one.published.against))
    if here <= 0 or said <= 0:
        return ""
    if here / said >= _TIMES or said / here >= _TIMES:
        return _times(here / said)
    return f"{abs(here / said - 1) * 100:.1f} % {'above' if here > said else 'below'} the paper's"


def _in_points(said: float, here: float, loss: bool) -> str:
    if loss and here < _NOTHING:
        return "next to nothing is lost here"
    points = abs(here - said)
    words = f"{points:.{0 if points >= 10 else 1}f} points {'more' if here > said else 'less'}"
    if here > 0 and (here / said >= _TIMES or said / here >= _TIMES):
        words += f": {_times(here / said)}"
    return words


def _times(ratio: float) -> str:
    """``1.9 times the paper's``, ``150 times``: two digits."""
    digits = max(0, 1 - math.floor(math.log10(ratio)))
    return f"{round(ratio, 1 - math.floor(math.log10(ratio))):.{digits}f} times the paper's"


def model(one: FigureBeside, of: str) -> str:
    """The model's figure beside the published one, both in the unit ``of``: ``input``, ``as published``, ``+5.6 %, at best``,
    ``1.1 points less``."""
    said = one.published.value
    if one.modelled is None:
        return ""
    if one.basis in ("input", "of inputs") or said is None or one.published.tolerance is None:
        return one.basis
    certain = "" if one.basis == "predicted" else f", {one.basis}"
    # What is only at best so much agrees with nothing.
    if one.basis not in ("at best", "nominal") and abs(one.modelled - said) <= one.published.tolerance:
        return f"as published{certain}"
    apart = _in_points(said, one.modelled, False) if of == "percent" else percent(one.modelled / said - 1)
    return f"{apart}{certain}"


def state(row: PaperRow) -> str:
    """``asked``, ``asked in part``, ``not asked``."""
    return _OF_STATES[row.state]


def counts(rows: list[RowBeside]) -> str:
    """``22 rows: 13 asked, 4 asked in part, 5 not asked``."""
    each = [(name, sum(one.row.state == name for one in rows)) for name in STATES]
    return f"{plural(len(rows), 'row')}: " + ", ".join(f"{count} {_OF_STATES[name]}" for name, count in each)


def site_counts(rows: list[RowBeside]) -> str:
    """How many of the published figures have a counterpart on this site, and how many of those are as published."""
    figures = [(figure, one.row) for one in rows for figure in one.figures if figure.published.value is not None]
    found = [(figure, row) for figure, row in figures if figure.measured is not None]
    compared = [figure for figure, _ in found if figure.compared]
    if not found:
        return f"none of the {plural(len(figures), 'published figure')} has a counterpart here"
    words = f"{len(found)} of {plural(len(figures), 'published figure')} {'has' if len(found) == 1 else 'have'} a counterpart here"
    if not compared:
        return words
    same = sum(_within(figure) for figure in compared)
    return f"{words}; {same} of {len(compared)} on a node of the paper's kind are as published"


def _within(one: FigureBeside) -> bool:
    said, here, around = one.published.value, one.measured, one.published.tolerance
    return None not in (said, here, around) and abs(float(here or 0) - float(said or 0)) <= float(around or 0)


def stands_out(rows: list[RowBeside], most: int = 8) -> list[str]:
    """What a reader wants to know first: losses and other percentages beside the paper's, then what differs on a node of its kind."""
    sentences = []
    for one in rows:
        for figure in one.figures:
            said, here = figure.published.value, figure.measured
            if said is None or here is None or _within(figure):
                continue
            if one.row.unit == "percent" or (figure.compared and abs(here / said - 1) >= _SLIGHT):
                of = unit(one.row.unit)
                values = f"{amount(here, one.row.unit)} {of} here, {published(figure.published)} {of} published"
                sentences.append(
                    (
                        one.row.unit != "percent",
                        f"{one.row.place}, {figure.published.name}: {values}: {difference(figure, one.row)}",
                    )
                )
    return [words for _, words in sorted(sentences, key=lambda each: each[0])][:most]
