"""Small curves of a rate or a time over size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import number, size, unit_words

from .plot import Plot, bytes_, decades, linear


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
