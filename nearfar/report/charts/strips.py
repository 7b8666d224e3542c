"""What lies on a scale beside a row of a table: how much a figure changed, where it lies."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import percent

from .plot import Scale
from .svg import element, markup, text

_WIDE, _EDGE, _MIDDLE = 260, 7, 10
#: Ends of a scale, times a power of ten; steps of a scale of changes, as parts, and how many it has, about.
_ENDS = (1, 2, 4, 5, 6, 8, 10)
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_MOST_STEPS = 5


@dataclass(frozen=True)
class Mark:
    """What stands on a strip at a value, or from there ``to`` another. ``shape``: ``line``, ``band``, ``tick``, ``dot`` or ``diamond``;
    ``kind``: CSS classes; ``half``: half its height."""

    shape: str
    kind: str
    at: float
    to: float = 0.0
    half: float = 6.0


def halves(most: float, unit: str) -> Scale | None:
    """From 0 to a round value that is ``most`` or more, with its middle; None where there is nothing to draw."""
    if most <= 0:
        return None
    power = 10.0 ** math.floor(math.log10(most))
    end = next(part * power for part in _ENDS if part * power >= most)
    return Scale(lambda value: value / end, [(0.0, "0"), (end / 2, f"{end / 2:g}"), (end, f"{end:g} {unit}".rstrip())])


def changes(values: Iterable[float]) -> Scale:
    """Around 0 and all values, which are parts (0.1: 10 % more)."""
    every = [0.0, *values]
    low, high = min(every), max(every)
    step = next((step for step in _STEPS if step * _MOST_STEPS >= high - low), (high - low) / _MOST_STEPS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    ticks = [(step * place, percent(step * place)) for place in range(first, last + 1)]
    return Scale(lambda value: (value / step - first) / (last - first), ticks)


def axis(scale: Scale) -> Markup:
    """The scale of the strips below it: of many values every second, with 0."""
    zero = [value == 0 for value, _ in scale.ticks].index(True)
    root, shown = _root(), scale.ticks if len(scale.ticks) < 5 else scale.ticks[zero % 2 :: 2]
    for value, words in shown:
        anchor = {scale.ticks[0][0]: "start", scale.ticks[-1][0]: "end"}.get(value, "middle")
        root.append(
            text(_wide(scale, value) + {"start": -3, "end": 3, "middle": 0}[anchor], 14, words, "scale", anchor)
        )
    return markup(root)


def strip(scale: Scale, marks: Iterable[Mark]) -> Markup:
    """Marks on a scale, with lines at its values."""
    grid = [Mark("tick", "grid" if value else "grid zero", value, half=10) for value, _ in scale.ticks]
    track, root = Mark("line", "grid", scale.ticks[0][0], scale.ticks[-1][0]), _root()
    for mark in (track, *grid, *marks):
        at, to, top = _wide(scale, mark.at), _wide(scale, mark.to), _MIDDLE - mark.half
        if mark.shape == "band":
            box = element("rect", x=at, y=top, width=max(1.0, to - at), height=2 * mark.half, class_=mark.kind)
        elif mark.shape == "dot":
            box = element("circle", cx=at, cy=_MIDDLE, r=mark.half, class_=mark.kind)
        else:
            paths = {
                "line": f"M{at:.4g} {_MIDDLE}H{to:.4g}", "tick": f"M{at:.1f} {top:g}v{2 * mark.half:g}",
                "diamond": f"M{at:.1f} {top:g}l{mark.half} {mark.half} l-{mark.half} {mark.half} l-{mark.half} -{mark.half}z",
            }  # fmt: skip
            box = element("path", d=paths[mark.shape], class_=mark.kind)
        root.append(box)
    return markup(root)


def change(scale: Scale, value: float, interval: tuple[float, float] | None, kind: str, dots: Iterable[float] = (),
           bounds: Iterable[float] = ()) -> Markup:  # fmt: skip
    """A change as a dot, its interval as a line; ``kind``: ``slower``, ``faster``, ``chance``; ``dots``: the values that it is made of;
    ``bounds``: broken lines, where they lie on the scale."""
    within = [bound for bound in bounds if 0 <= scale.at(bound) <= 1]
    return strip(scale, [
        *(Mark("tick", "bound", bound, half=10) for bound in within), *(Mark("dot", "pair", dot, half=2.2) for dot in dots),
        *([Mark("line", f"interval {kind}", *interval)] if interval else []), Mark("dot", f"change {kind}", value, half=4.4),
    ])  # fmt: skip


def _wide(scale: Scale, value: float) -> float:
    return _EDGE + max(0.0, min(1.0, scale.at(value))) * (_WIDE - 2 * _EDGE)


def _root() -> ET.Element:
    return element(
        "svg", class_="strip", viewBox=f"0 0 {_WIDE} {2 * _MIDDLE}", width=_WIDE, height=2 * _MIDDLE, aria_hidden="true"
    )
