"""Small curves: axes, lines and marks. Lines differ by dash and marker, not by colour alone."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import number, size, unit_words

from .svg import element, markup, text

#: How lines and marks are drawn, in their order.
STYLES = ("h2d", "d2h", "both")
_HEIGHT, _TOP, _BOTTOM = 244, 18, 38
#: The least distance between two labels, in units of the drawing.
_LABEL = 14.0
Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """An axis: where a value lies, from 0 to 1, and the values that are written at it."""

    at: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]


def linear(high: float) -> Scale:
    """From 0 to the next round value above ``high``, with about five lines."""
    rough = max(high, 1e-12) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    last = max(1, math.ceil(high * 1.02 / step))
    ticks = [(step * count, f"{step * count:g}") for count in range(last + 1)]
    return Scale(lambda value: value / (step * last), ticks)


def decades(low: float, high: float) -> Scale:
    """Powers of ten around ``low`` and ``high``."""
    first = math.floor(math.log10(low))
    last = max(first + 1, math.ceil(math.log10(high)))
    ticks = [(10.0**power, f"{10.0**power:g}") for power in range(first, last + 1)]
    return Scale(lambda value: (math.log10(value) - first) / (last - first), ticks)


def bytes_(low: float, high: float) -> Scale:
    """Sizes, by their power of two."""
    first, last = math.log2(max(1, low)), math.log2(max(1, high))
    every = 4 if last - first > 8 else 2
    ticks = [(2.0**power, size(2**power)) for power in range(math.ceil(first), math.floor(last) + 1, every)]
    return Scale(lambda value: (math.log2(max(1, value)) - first) / max(1e-9, last - first), ticks)


class Plot:
    """A drawing: ``words`` say what it shows, ``axes`` are named across and up; ``right``: room for labels."""

    def __init__(
        self, words: str, axes: tuple[str, str], x: Scale, y: Scale, width: int = 420, right: int = 110
    ) -> None:
        self._x, self._y = x, y
        self._left, self._right, self._low = 52, width - right, _HEIGHT - _BOTTOM
        box = f"0 0 {width} {_HEIGHT}"
        self._root = element("svg", class_="curve", viewBox=box, width=width, height=_HEIGHT, role="img")
        self._root.append(element("title", words))
        for value, label in y.ticks:
            at = self.y(value)
            self._root.append(element("line", x1=self._left, x2=self._right, y1=at, y2=at, class_="grid"))
            self._root.append(text(self._left - 6, at + 4, label, "tick", "end"))
        for value, label in x.ticks:
            self._root.append(text(self.x(value), self._low + 16, label, "tick", "middle"))
        self._root.append(text((self._left + self._right) / 2, _HEIGHT - 5, axes[0], "axis", "middle"))
        self._root.append(text(4, 10, axes[1], "axis"))

    def x(self, value: float) -> float:
        """The place of a value across."""
        return self._left + self._x.at(value) * (self._right - self._left)

    def y(self, value: float) -> float:
        """The place of a value upwards."""
        return self._low - self._y.at(value) * (self._low - _TOP)

    def line(self, points: Sequence[Point], style: int, tip: Callable[[Point], str]) -> None:
        """A line through marks; ``tip``: the tooltip of a point."""
        group = element("g", class_=f"series {STYLES[style % len(STYLES)]}")
        self._root.append(group)
        path = " L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        group.append(element("path", d=f"M{path}", fill="none"))
        for x, y in points:
            group.append(self._mark(style, x, y, 3.0, tip((x, y))))

    def ends(self, labels: Mapping[str, tuple[float, float]]) -> None:
        """Names at the lines' ends, moved apart where they would cover each other."""
        at = -math.inf
        for words, (x, value) in sorted(labels.items(), key=lambda item: -item[1][1]):
            at = max(self.y(value) + 4, at + _LABEL)
            self._root.append(text(self.x(x) + 10, at, words, "label"))

    def markup(self) -> Markup:
        """The drawing."""
        return markup(self._root)

    def _mark(self, style: int, x: float, y: float, r: float, tip: str) -> ET.Element:
        at, up, title = self.x(x), self.y(y), element("title", tip)
        if style % 3 == 0:
            return element("circle", title, cx=at, cy=up, r=r)
        if style % 3 == 1:
            return element("rect", title, x=at - r, y=up - r, width=2 * r, height=2 * r)
        triangle = f"M{at:.1f} {up - r - 1:.1f} l{r + 1:.1f} {2 * r:.1f} l{-2 * r - 2:.1f} 0 z"
        return element("path", title, d=triangle, class_="mark")


@dataclass(frozen=True)
class CurveLine:
    """A line over sizes. ``style`` counts in ``STYLES``; ``label`` stands at its end, ``title`` in its tooltips. ``points``: bytes and
    figure, from the least size up."""

    label: str
    title: str
    style: int
    points: tuple[tuple[int, float], ...]


def over_sizes(series: Sequence[CurveLine], unit: str, words: str, of: str, logarithmic: bool = True) -> Markup:
    """A figure over the size ``of`` something, ``a message``; ``logarithmic``: upwards too: latencies and rates of messages span five
    decades. Empty where no line has two points."""
    known = ((each, [point for point in each.points if point[1] > 0]) for each in series)
    drawn = [(each, points) for each, points in known if len(points) > 1]
    if not drawn:
        return Markup("")
    across, upwards = zip(*(point for _, points in drawn for point in points))
    up = decades(min(upwards), max(upwards)) if logarithmic else linear(max(upwards))
    axes = f"bytes of {of}", unit_words(unit)
    plot = Plot(words, axes, bytes_(min(across), max(across)), up, 440, right=128)
    for each, points in drawn:
        said = f"{each.title}: {{}} {unit_words(unit)} at {{}}"
        plot.line(points, each.style, lambda at, said=said: said.format(number(at[1], unit), size(at[0])))  # type: ignore[misc]
    plot.ends({each.label: points[-1] for each, points in reversed(drawn) if each.label})
    return plot.markup()
