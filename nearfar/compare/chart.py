"""The changes as a drawing: a row for each figure, its change as a dot, its interval as a bar, on one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from nearfar.report.charts import element, markup, text

from . import words
from .changes import FigureChange

WIDTH, ROW, TOP = 1100, 22, 30
#: Where names end and where the scale begins and ends.
_NAMES, _LEFT, _RIGHT = 430, 450, 1000
#: Steps of the scale, as parts.
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: Steps to each side, about.
_MOST_STEPS = 4
_LONGEST_NAME = 56


def chart(changes: Sequence[FigureChange], several: bool, at_most: float | None) -> Markup:
    """The drawing; ``several``: with the nodes' names; ``at_most``: the bound on what is worse, as a line, where it lies on the scale."""
    reach = max(max(map(abs, (*change.interval, change.change))) for change in changes)
    step = next((width for width in _STEPS if width * _MOST_STEPS >= reach), _STEPS[-1])
    most = step * math.ceil(reach / step - 1e-9)
    height = TOP + ROW * len(changes) + 6

    def at(part: float) -> float:
        return _LEFT + (max(-most, min(most, part)) + most) / (2 * most) * (_RIGHT - _LEFT)

    root = element(
        "svg", element("title", "change of each figure with its 95 % interval"), class_="changes", viewBox=f"0 0 {WIDTH} {height}",
        role="img",
    )  # fmt: skip
    count = round(most / step)
    for position in range(-count, count + 1):
        x, middle = at(position * step), position == 0
        root.append(element("line", x1=x, x2=x, y1=TOP - 6, y2=height - 4, class_="zero" if middle else "grid"))
        root.append(text(x, TOP - 12, words.part(position * step), "scale", "middle"))
    if at_most is not None and at_most <= most:
        for sign in sorted({1 if change.less_is_better else -1 for change in changes}):
            x = at(sign * at_most)
            root.append(element("line", x1=x, x2=x, y1=TOP - 6, y2=height - 4, class_="bound"))
    for row, change in enumerate(changes):
        y = TOP + ROW * row + ROW / 2
        low, high = map(at, change.interval)
        css_class = words.mark(change) if change.significant else "chance"
        name = words.where(change, several)
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        root.append(text(_NAMES, y + 4, short, "name", "end"))
        root.append(element("line", x1=low, x2=high, y1=y, y2=y, class_=f"interval {css_class}"))
        root.append(element("circle", cx=at(change.change), cy=y, r=4.2, class_=f"change {css_class}"))
        root.append(text(_RIGHT + 12, y + 4, words.part(change.change), "value", None))
    return markup(root)
