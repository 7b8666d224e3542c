"""Small curves: what many GPUs carry together, what a task has, a rate over size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import number, size, unit_words

from .plot import STYLES, Plot, Point, bytes_, counted, decades, linear

_NAMES = {"h2d": "H2D", "d2h": "D2H", "both": "both"}


@dataclass(frozen=True)
class CurveLine:
    """A line over sizes. ``style`` counts in ``STYLES``; ``label`` stands at its end, ``title`` in its tooltips. ``points``: bytes and
    figure, from the least size up."""

    label: str
    title: str
    style: int
    points: tuple[tuple[int, float], ...]


def totals(series: Mapping[str, Sequence[tuple[int, float, float | None]]]) -> Markup:
    """Totals over the number of GPUs; hollow marks and thin lines are what is expected. Empty with fewer than two steps."""
    return _over_counts("Total over the number of GPUs", ("GPUs at once", "GB/s of all together"), series)


def tasks(series: Mapping[str, Sequence[tuple[int, float, float, float]]]) -> Markup:
    """A task's mean over the number of tasks with bars from the slowest to the fastest; thin lines are 1/K of one task's."""
    firsts = {way: points[0][0] * points[0][2] for way, points in series.items()}
    means = {way: [(x, mean, firsts[way] / x) for x, _, mean, _ in points] for way, points in series.items()}
    bars = {way: [(x, low, high) for x, low, _, high in points] for way, points in series.items()}
    return _over_counts("Rate of a task over the number of tasks", ("tasks a GPU", "GB/s of a task"), means, bars)


def _over_counts(words: str, axes: tuple[str, str], series: Mapping[str, Sequence[tuple[int, float, float | None]]],
                 bars: Mapping[str, Sequence[tuple[int, float, float]]] | None = None) -> Markup:  # fmt: skip
    """Values over counts beside what is expected of them, ``bars`` around them; empty with fewer than two counts."""
    every = [point for points in series.values() for point in points]
    if not any(len(points) > 1 for points in series.values()):
        return Markup("")
    ranges = {way: (bars or {}).get(way, ()) for way in series}
    highest = [high for each in ranges.values() for *_, high in each]
    most = max([max(value, expected or 0.0) for _, value, expected in every] + highest)
    plot = Plot(words, axes, counted(max(x for x, *_ in every)), linear(most))
    for way, points in series.items():
        style = STYLES.index(way)
        plot.line([(x, known) for x, _, known in points if known is not None], style, _expected, hollow=True)
        for x, low, high in ranges[way]:
            plot.bar(x, low, high, style)
        plot.line([(x, value) for x, value, _ in points], style, _rate)
    plot.ends({f"{_NAMES[way]} {number(points[-1][1])}": points[-1][:2] for way, points in series.items()})
    return plot.markup()


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


def _rate(at: Point) -> str:
    return f"{number(at[1])} GB/s"


def _expected(at: Point) -> str:
    return f"expected {_rate(at)}"
