"""Changes on one scale: a row for each, its value as a dot, its interval as a bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import percent

from .svg import element, markup, text

WIDTH, ROW, TOP = 1100, 26, 30
#: Where names end and where the scale begins and ends.
_NAMES, _LEFT, _RIGHT = 430, 450, 1000
#: Steps of the scale, as parts.
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
#: Steps of the whole scale, about.
_MOST_STEPS = 8
_LONGEST_NAME = 56


@dataclass(frozen=True)
class ChangeRow:
    """A change as a part (0.1: 10 % more). ``kind``: ``slower``, ``faster``, ``chance``; ``dots``: the single values that it is made of."""

    name: str
    value: float
    interval: tuple[float, float] | None
    kind: str
    dots: tuple[float, ...] = ()


def draw(rows: Sequence[ChangeRow], words: str, bounds: Sequence[float] = ()) -> Markup:
    """The drawing; ``bounds``: broken lines, where they lie on the scale. Empty without rows."""
    if not rows:
        return Markup("")
    values = [value for row in rows for value in (row.value, *(row.interval or ()), *row.dots)]
    low, high = min(0.0, *values), max(0.0, *values)
    step = next((step for step in _STEPS if step * _MOST_STEPS >= high - low), (high - low) / _MOST_STEPS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    height = TOP + ROW * len(rows) + 6

    def at(part: float) -> float:
        return float(_LEFT + (part / step - first) / (last - first) * (_RIGHT - _LEFT))

    def upright(part: float, kind: str) -> None:
        root.append(element("line", x1=at(part), x2=at(part), y1=TOP - 6, y2=height - 4, class_=kind))

    root = element("svg", element("title", words), class_="changes", viewBox=f"0 0 {WIDTH} {height}", role="img")
    for position in range(first, last + 1):
        upright(position * step, "grid" if position else "zero")
        root.append(text(at(position * step), TOP - 12, percent(position * step), "scale", "middle"))
    for bound in bounds:
        if first * step <= bound <= last * step:
            upright(bound, "bound")
    for place, row in enumerate(rows):
        y = TOP + ROW * place + ROW / 2
        short = row.name if len(row.name) <= _LONGEST_NAME else f"{row.name[: _LONGEST_NAME - 1]}…"
        root.append(text(_NAMES, y + 4, short, "name", "end"))
        for dot in row.dots:
            root.append(element("circle", cx=at(dot), cy=y, r=2.2, class_="pair"))
        if row.interval is not None:
            ends = tuple(map(at, row.interval))
            root.append(element("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_=f"interval {row.kind}"))
        root.append(element("circle", cx=at(row.value), cy=y, r=4.4, class_=f"change {row.kind}"))
        root.append(text(_RIGHT + 12, y + 4, percent(row.value), "value"))
    return markup(root)
