"""A figure over the size of a message, both axes logarithmic: latencies and rates of MPI span five decades."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import number, size, unit_words

from .svg import element, markup, text

WIDTH, HEIGHT = 440, 252
LEFT, RIGHT, TOP, BOTTOM = 52, 128, 20, 38
#: How lines are drawn: colour alone tells nothing.
STYLES = ("h2d", "d2h", "both")
_LABEL = 14.0


@dataclass(frozen=True)
class CurveLine:
    """A line. ``style`` counts in ``STYLES``; ``label`` stands at its end, ``title`` is its tooltip. ``points``: bytes and
    figure, from the least size up."""

    label: str
    title: str
    style: int
    points: tuple[tuple[int, float], ...]


def draw(series: Sequence[CurveLine], unit: str, words: str) -> Markup:
    """The curves; empty where no line has two points."""
    drawn = [each for each in series if len([1 for _, value in each.points if value > 0]) > 1]
    if not drawn:
        return Markup("")
    sizes = [max(1, count) for each in drawn for count, _ in each.points]
    values = [value for each in drawn for _, value in each.points if value > 0]
    left, right = math.log2(min(sizes)), math.log2(max(sizes))
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(count: int) -> float:
        return LEFT + (math.log2(max(1, count)) - left) / max(1e-9, right - left) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(value) - low) / (high - low) * (HEIGHT - BOTTOM - TOP)

    root = element("svg", class_="curve", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img")
    root.append(element("title", words))
    for decade in range(low, high + 1):
        at = y(10.0**decade)
        root.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid"))
        root.append(text(LEFT - 6, at + 4, f"{10.0**decade:g}", "tick", "end"))
    for power in range(math.ceil(left), math.floor(right) + 1, 4):
        root.append(text(x(2**power), HEIGHT - BOTTOM + 16, size(2**power), "tick", "middle"))
    root.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, "bytes of a message", "axis", "middle"))
    root.append(text(4, 10, unit_words(unit), "axis"))
    for each in drawn:
        points = [(count, value) for count, value in each.points if value > 0]
        group = element("g", class_=f"series {STYLES[each.style % len(STYLES)]}")
        path = " L".join(f"{x(count):.1f} {y(value):.1f}" for count, value in points)
        group.append(element("path", element("title", each.title), d=f"M{path}", fill="none"))
        for count, value in points:
            tip = f"{each.title}: {number(value, unit)} {unit_words(unit)} at {size(count)}"
            group.append(element("circle", element("title", tip), cx=x(count), cy=y(value), r=2.0))
        root.append(group)
    at = -math.inf
    ends = {each.label: each.points[-1] for each in reversed(drawn) if each.label and each.points[-1][1] > 0}
    for label, (count, value) in sorted(ends.items(), key=lambda item: -item[1][1]):
        at = max(y(value) + 4, at + _LABEL)
        root.append(text(x(count) + 8, at, label, "label"))
    return markup(root)
