"""What lies on a scale beside a row of a table: how far a figure is from what is expected, how much it changed."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markupsafe import Markup

from nearfar.report.figures import Figure, percent

from .plot import Scale
from .svg import element, markup, text

#: As wide as the style sheet makes those of figures; those that stand below an axis.
WIDTH, _WIDE, _EDGE = 116, 260, 7
#: Origins of references that somebody measured on a machine of this kind.
_MEASURED = ("tuned", "published", "site")
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
    root, shown = _root("strip", _WIDE, 20), scale.ticks if len(scale.ticks) < 5 else scale.ticks[zero % 2 :: 2]
    for value, words in shown:
        anchor = {scale.ticks[0][0]: "start", scale.ticks[-1][0]: "end"}.get(value, "middle")
        root.append(
            text(_wide(scale, value) + {"start": -3, "end": 3, "middle": 0}[anchor], 14, words, "scale", anchor)
        )
    return markup(root)


def strip(scale: Scale, marks: Iterable[Mark]) -> Markup:
    """Marks on a scale, with lines at its values."""
    grid = [Mark("tick", "grid" if value else "grid zero", value, half=10) for value, _ in scale.ticks]
    track = Mark("line", "grid", scale.ticks[0][0], scale.ticks[-1][0])
    return _drawn(_root("strip", _WIDE, 20), [track, *grid, *marks], 10, lambda value: _wide(scale, value))


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


def _root(kind: str, width: int, height: int) -> ET.Element:
    return element("svg", class_=kind, viewBox=f"0 0 {width} {height}", width=width, height=height, aria_hidden="true")


def _drawn(root: ET.Element, marks: Iterable[Mark], middle: float, x: Callable[[float], float]) -> Markup:
    for mark in marks:
        at, to, top = x(mark.at), x(mark.to), middle - mark.half
        if mark.shape == "band":
            box = element("rect", x=at, y=top, width=max(1.0, to - at), height=2 * mark.half, class_=mark.kind)
        elif mark.shape == "dot":
            box = element("circle", cx=at, cy=middle, r=mark.half, class_=mark.kind)
        else:
            paths = {
                "line": f"M{at:.4g} {middle:g}H{to:.4g}", "tick": f"M{at:.1f} {top:g}v{2 * mark.half:g}",
                "diamond": f"M{at:.1f} {top:g}l{mark.half} {mark.half} l-{mark.half} {mark.half} l-{mark.half} -{mark.half}z",
            }  # fmt: skip
            box = element("path", d=paths[mark.shape], class_=mark.kind)
        root.append(box)
    return markup(root)


def bullet(figure: Figure) -> Markup:
    """A bar from zero to the value, with the reference as a tick (broken where nobody measured it), the bounds as a shade, the median
    and the looks as marks, and the ceiling as the track's end. Nothing where there is neither reference nor ceiling to compare with."""
    reference = figure.reference
    if figure.value is None or (reference is None and not figure.ceiling):
        return Markup("")
    lowest, highest = (reference.lowest, reference.highest) if reference else (None, None)
    known = [v for v in (figure.value, figure.expected, highest, figure.ceiling) if v is not None]
    most = figure.ceiling if figure.ceiling and figure.ceiling >= max(known) else max(known) * 1.05
    if most <= 0:
        return Markup("")
    marks = []
    if lowest is not None:
        marks.append(Mark("line", "bounds", lowest, most if highest is None else highest))
    marks.append(Mark("line", f"value {figure.shown}", 0.0, figure.value))
    if figure.median is not None and figure.steadiness_words:
        marks.append(Mark("tick", "median", figure.median, half=4))
    marks += [Mark("dot", "look", look.value, half=2.5) for look in figure.looks if look.value is not None]
    if reference is not None:
        marks.append(Mark("tick", f"tick{'' if reference.origin in _MEASURED else ' supposed'}", reference.value))
    root = element("svg", class_="bullet", aria_hidden="true")
    return _drawn(root, marks, 7, lambda value: max(0.0, min(1.0, value / most)) * WIDTH)


def legend(mark: Mark) -> Markup:
    """A mark by itself, as bullets have it: ``at`` and ``to`` are its places."""
    width = max(mark.to, 2 * mark.at)
    return _drawn(_root("bullet", round(width), 14), [mark], 7, lambda at: at)
