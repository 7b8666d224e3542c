"""A figure's three values on one line: what was published with its tolerance, the model's, this site's."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from nearfar.report.charts import element, markup, text

from .rows_beside import FigureBeside

WIDTH, HEIGHT = 260, 20
_EDGE = 7
_MIDDLE = HEIGHT / 2
#: Ends of a scale, times a power of ten.
_ENDS = (1, 2, 4, 5, 6, 8, 10)


def scale_end(figures: Sequence[FigureBeside]) -> float:
    """Where the scale of a row's figures ends, which begins at 0; 0 where there is nothing to draw."""
    most = 0.0
    for figure in figures:
        value = figure.published.value or 0.0
        most = max(most, value + (figure.published.tolerance or 0.0), figure.modelled or 0.0, figure.measured or 0.0)
    if most <= 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(most))
    return next(part * unit for part in _ENDS if part * unit >= most)


def axis(end: float, unit: str) -> Markup:
    """The scale: its begin, middle and end."""
    root = element(
        "svg", class_="strip", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, aria_hidden="true"
    )
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        label = f"{end * part:g}" + (f" {unit}" if part == 1.0 else "")
        x = _at(end * part, end) + (-3 if part == 0 else 3 if part == 1 else 0)
        root.append(text(x, 14, label, "scale", anchor))
    return markup(root)


def strip(figure: FigureBeside, end: float) -> Markup:
    """The values of a figure on the scale from 0 to ``end``."""
    root = element(
        "svg", class_="strip", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, aria_hidden="true"
    )
    for part in (0.0, 0.5, 1.0):
        x = _at(end * part, end)
        root.append(element("line", x1=x, x2=x, y1=0, y2=HEIGHT, class_="grid"))
    root.append(element("line", x1=_at(0, end), x2=_at(end, end), y1=_MIDDLE, y2=_MIDDLE, class_="track"))
    value, around = figure.published.value, figure.published.tolerance or 0.0
    if value is not None:
        low, high = _at(value - around, end), _at(value + around, end)
        root.append(element("rect", x=low, y=3, width=max(1.0, high - low), height=HEIGHT - 6, class_="tolerance"))
    if figure.measured is not None:
        root.append(element("circle", cx=_at(figure.measured, end), cy=_MIDDLE, r=5, class_="here"))
    if value is not None:
        root.append(element("line", x1=_at(value, end), x2=_at(value, end), y1=1, y2=HEIGHT - 1, class_="published"))
    if figure.modelled is not None:
        x, top = _at(figure.modelled, end), _MIDDLE - 5.5
        root.append(element("path", d=f"M{x:.1f} {top} l5.5 5.5 l-5.5 5.5 l-5.5 -5.5 z", class_="model"))
    return markup(root)


def _at(value: float, end: float) -> float:
    return _EDGE + max(0.0, min(1.0, value / end)) * (WIDTH - 2 * _EDGE)
