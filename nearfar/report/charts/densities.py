"""Penalties of kernels over their operations per byte transferred."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import percent

from .svg import element, markup, text

WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 20, 40
#: How classes are drawn, by their order: colour alone tells nothing.
STYLES = ("h2d", "d2h", "both")
_MARKS = ("circle", "square", "diamond")
_SIZE = 4.0


@dataclass(frozen=True)
class DensityPoint:
    """A kernel on a path: ``density`` in operations per byte, ``penalty`` and ``link`` (what the links alone cost; None: not known) as
    parts of the near time. ``group`` counts the path classes; ``label`` stands beside the point, ``title`` is its tooltip."""

    label: str
    title: str
    group: int
    density: float
    penalty: float
    link: float | None


def draw(points: Sequence[DensityPoint], words: str) -> Markup:
    """The chart; empty where no point has a density."""
    drawn = [each for each in points if each.density > 0]
    if not drawn:
        return Markup("")
    values = [value for each in drawn for value in (each.penalty, each.link) if value is not None]
    low, high = min(0.0, *values), max(0.01, *values) * 1.08
    left = math.floor(min(math.log10(each.density) for each in drawn))
    right = max(left + 1, math.ceil(max(math.log10(each.density) for each in drawn)))

    def x(density: float) -> float:
        return LEFT + (math.log10(density) - left) / (right - left) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - BOTTOM - TOP)

    root = element("svg", class_="curve", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img")
    root.append(element("title", words))
    step = _step(high - low)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        at = y(number * step)
        root.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid"))
        root.append(text(LEFT - 6, at + 4, f"{number * step * 100:g} %", "tick", "end"))
    for decade in range(left, right + 1):
        root.append(text(x(10.0**decade), HEIGHT - BOTTOM + 16, f"{10.0**decade:g}", "tick", "middle"))
    root.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, "operations per byte transferred", "axis", "middle"))
    taken: list[tuple[float, float]] = []
    for each in sorted(drawn, key=lambda point: -point.penalty):
        group = element("g", class_=f"series {STYLES[each.group % len(STYLES)]}")
        if each.link is not None:
            hollow = element("g", class_="expected")
            hollow.append(_mark(each.group, x(each.density), y(each.link)))
            group.append(hollow)
        mark = _mark(each.group, x(each.density), y(each.penalty))
        mark.append(element("title", f"{each.title}: {percent(each.penalty)}"))
        group.append(mark)
        root.append(group)
        place = (x(each.density), y(each.penalty))
        if each.label and all(abs(place[0] - a) > 70 or abs(place[1] - b) > 11 for a, b in taken):
            taken.append(place)
            end = "end" if place[0] > WIDTH - RIGHT - 60 else None
            root.append(text(place[0] + (-7 if end else 7), place[1] - 5, each.label, "label", end))
    return markup(root)


def _mark(group: int, x: float, y: float) -> ET.Element:
    kind = _MARKS[group % len(_MARKS)]
    if kind == "circle":
        return element("circle", cx=x, cy=y, r=_SIZE)
    if kind == "square":
        return element("rect", x=x - _SIZE, y=y - _SIZE, width=2 * _SIZE, height=2 * _SIZE)
    corners = f"M{x:.1f} {y - 5:.1f} L{x + 5:.1f} {y:.1f} L{x:.1f} {y + 5:.1f} L{x - 5:.1f} {y:.1f} Z"
    return element("path", d=corners, class_="mark")


def _step(span: float) -> float:
    """Between two lines of the grid: 1, 2 or 5 of a power of ten, four or more of them."""
    raw = span / 4
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in (5, 2) if factor * power <= raw), power)
