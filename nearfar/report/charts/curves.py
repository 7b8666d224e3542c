"""Small curves: what many GPUs carry together, and what a task has. Lines differ by dash and marker, not by colour alone."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from nearfar.report.figures import number, size

from .svg import element, markup, text

WIDTH, HEIGHT = 392, 236
LEFT, RIGHT, TOP, BOTTOM = 46, 92, 14, 38
_NAMES = {"h2d": "H2D", "d2h": "D2H", "both": "both"}
#: The least distance between two labels, in units of the drawing.
_LABEL = 15.0


def totals(series: Mapping[str, Sequence[tuple[int, float, float | None]]]) -> Markup:
    """Totals over the number of GPUs; hollow marks and thin lines are what is expected. Empty with fewer than two steps."""
    if not any(len(points) > 1 for points in series.values()):
        return Markup("")
    most = max(max(value, expected or 0.0) for points in series.values() for _, value, expected in points)
    axes = _Axes(
        max(x for points in series.values() for x, _, _ in points), most, "GPUs at once", "GB/s of all together"
    )
    for way, points in series.items():
        known = [(x, expected) for x, _, expected in points if expected is not None]
        axes.line(known, f"expected {way}", hollow=True)
        axes.line([(x, value) for x, value, _ in points], way)
    axes.labels({way: points[-1][:2] for way, points in series.items()})
    return axes.markup("Total over the number of GPUs")


def tasks(series: Mapping[str, Sequence[tuple[int, float, float, float]]]) -> Markup:
    """A task's mean over the number of tasks with bars from the slowest to the fastest; thin lines are 1/K of one task's."""
    if not any(len(points) > 1 for points in series.values()):
        return Markup("")
    most = max(high for points in series.values() for *_, high in points)
    axes = _Axes(max(points[-1][0] for points in series.values()), most, "tasks a GPU", "GB/s of a task")
    for way, points in series.items():
        first, _, alone, _ = points[0]
        axes.line([(x, alone * first / x) for x, *_ in points], f"expected {way}", hollow=True)
        for x, low, _, high in points:
            axes.bar(x, low, high, way)
        axes.line([(x, mean) for x, _, mean, _ in points], way)
    axes.labels({way: (points[-1][0], points[-1][2]) for way, points in series.items()})
    return axes.markup("Rate of a task over the number of tasks")


def sizes(series: Mapping[str, Sequence[tuple[int, float]]]) -> Markup:
    """Rates over the size of a transfer, on a logarithmic axis."""
    least = min(points[0][0] for points in series.values())
    steps = max(1, round(math.log2(max(points[-1][0] for points in series.values()) / least))) + 1
    most = max(rate for points in series.values() for _, rate in points)
    axes = _Axes(steps, most, "bytes of a transfer", "GB/s", lambda count: size(least * 2 ** (count - 1)), 5)
    ends = {}
    for position, (name, points) in enumerate(series.items()):
        places = [(1 + math.log2(bytes_ / least), rate) for bytes_, rate in points]
        axes.line(places, list(_NAMES)[position % len(_NAMES)])
        ends[name] = places[-1]
    axes.labels(ends, rates=False)
    return axes.markup("Rate over the size of a transfer")


class _Axes:
    def __init__(
        self, steps: int, most: float, across: str, up: str, tick: Callable[[int], str] = str, ticks: int = 8
    ) -> None:
        self.steps = max(2, steps)
        self.step = _round_step(most)
        self.most = max(self.step * math.ceil(most * 1.02 / self.step), self.step)
        self.root = element(
            "svg", class_="curve", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img"
        )
        value = 0.0
        while value <= self.most * 1.001:
            y = self.y(value)
            self.root.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
            self.root.append(text(LEFT - 6, y + 4, f"{value:g}", "tick", "end"))
            value += self.step
        every = max(1, math.ceil(steps / ticks))
        for count in range(1, steps + 1, every):
            self.root.append(text(self.x(count), HEIGHT - BOTTOM + 16, tick(count), "tick", "middle"))
        self.root.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, across, "axis", "middle"))
        self.root.append(text(LEFT - 40, 10, up, "axis"))

    def x(self, count: float) -> float:
        """The place of a number of GPUs or tasks."""
        return LEFT + 14 + (count - 1) / (self.steps - 1) * (WIDTH - RIGHT - LEFT - 28)

    def y(self, value: float) -> float:
        """The place of a rate."""
        return HEIGHT - BOTTOM - value / self.most * (HEIGHT - BOTTOM - TOP - 6)

    def line(self, points: Sequence[tuple[float, float]], name: str, hollow: bool = False) -> None:
        """A line through marks."""
        if not points:
            return
        group = element("g", class_=f"series {name}")
        path = " L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        group.append(element("path", d=f"M{path}", fill="none"))
        for x, y in points:
            mark = _mark(name.rpartition(" ")[2], self.x(x), self.y(y), 4.6 if hollow else 3.2)
            mark.append(element("title", f"{'expected ' if hollow else ''}{number(y)} GB/s"))
            group.append(mark)
        self.root.append(group)

    def bar(self, x: int, low: float, high: float, name: str) -> None:
        """From the slowest to the fastest."""
        group = element("g", class_=f"series {name} range")
        group.append(element("line", x1=self.x(x), x2=self.x(x), y1=self.y(low), y2=self.y(high)))
        for end in (low, high):
            group.append(element("line", x1=self.x(x) - 4, x2=self.x(x) + 4, y1=self.y(end), y2=self.y(end)))
        self.root.append(group)

    def labels(self, ends: Mapping[str, tuple[float, float]], rates: bool = True) -> None:
        """Names at the lines' ends, moved apart where they would cover each other."""
        at = -math.inf
        for way, (x, value) in sorted(ends.items(), key=lambda item: -item[1][1]):
            at = max(self.y(value) + 4, at + _LABEL)
            words = f"{_NAMES[way]} {number(value)}" if rates else way
            self.root.append(text(self.x(x) + 12, at, words, "label"))

    def markup(self, words: str) -> Markup:
        """The drawing, with what it shows in words."""
        self.root.insert(0, element("title", words))
        return markup(self.root)


def _round_step(most: float) -> float:
    """A round distance between lines of the grid, for about five of them."""
    if most <= 0:
        return 1.0
    rough = most / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)


def _mark(way: str, x: float, y: float, r: float) -> ET.Element:
    if way == "h2d":
        return element("circle", cx=x, cy=y, r=r)
    if way == "d2h":
        return element("rect", x=x - r, y=y - r, width=2 * r, height=2 * r)
    return element("path", d=f"M{x:.1f} {y - r - 1:.1f} l{r + 1:.1f} {2 * r:.1f} l{-2 * r - 2:.1f} 0 z", class_="mark")
