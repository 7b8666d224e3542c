"""Series as lines of text and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from nearfar.verdict.references import figure

from .series import Series, sparkline


def table(found: Sequence[Series], most: int | None) -> list[str]:
    """A line for each series, ``most`` of them, with what they have in common above."""
    shown = list(found[:most])
    common = {name: {getattr(each, name) for each in shown} for name in ("node", "check", "metric", "unit")}
    keys = [name for name in ("node", "check", "metric") if len(common[name]) > 1] or ["node"]
    title = ", ".join(next(iter(common[name])) for name in ("metric", "check", "node") if name not in keys)
    first, last = (pick(p.started for each in found for p in each.points) for pick in (min, max))
    units = f", {_unit(shown[0].unit)}" if len(common["unit"]) == 1 else ""
    lines = [f"{f'{title}{units}: ' if title else ''}{first:%Y-%m-%d} to {last:%Y-%m-%d}, the worst first"]
    widths = [max(len(key), *(len(_key(each, key)) for each in shown)) for key in keys]
    heads = "  ".join(f"{key:<{width}}" for key, width in zip(keys, widths))
    lines.append(f"{heads}  runs   median  interval             last  verdict")
    # Of one figure all lines have one scale; of several each has its own.
    every = [value for each in shown for value in each.values]
    scale = (min(every), max(every)) if len(common["metric"]) == 1 and len(shown) > 1 else None
    for each in shown:
        cells = "  ".join(f"{_key(each, key):<{width}}" for key, width in zip(keys, widths))
        low, high = each.interval
        between = f"{figure(low, each.unit)} – {figure(high, each.unit)}"
        line = sparkline(each.values, *(scale or _scale(each)))
        lines.append(
            f"{cells}  {len(each.points):4d}  {figure(each.median, each.unit):>7}  {between:<17}  "
            f"{figure(each.last.value, each.unit):>7}  {each.last.verdict:<10}  {line}"
        )
    if len(found) > len(shown):
        lines.append(f"… and {len(found) - len(shown)} more (--all)")
    return lines


def _scale(one: Series) -> tuple[float, float]:
    """From the least to the most, and wide enough that mere noise stays flat."""
    return min(*one.values, 0.97 * one.median), max(*one.values, 1.01 * one.median)


def _key(each: Series, key: str) -> str:
    return str(getattr(each, key))


def _unit(unit: str) -> str:
    return "a ratio" if unit == "1" else "µs" if unit == "us" else unit


def runs(one: Series) -> list[str]:
    """One figure of one node, run by run."""
    low, high = one.interval
    lines = [
        f"{one.metric} ({one.check}) of {one.node}, {_unit(one.unit)}: median {figure(one.median, one.unit)}, "
        f"{figure(low, one.unit)} to {figure(high, one.unit)}, {len(one.points)} run{'s' if len(one.points) > 1 else ''}",
        sparkline(one.values, *_scale(one), 60),
    ]
    for point in one.points:
        interval = "" if point.low is None or point.high is None else (
            f"{figure(point.low, one.unit)} – {figure(point.high, one.unit)}")  # fmt: skip
        lines.append(
            f"{point.started:%Y-%m-%d %H:%M}  {figure(point.value, one.unit):>7}  {interval:<17}  {point.verdict:<13}  {point.run}"
        )
    return lines


def time(moment: datetime) -> str:
    """A moment as documents write it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def as_json(found: Sequence[Series]) -> list[dict[str, object]]:
    """The series as plain values."""
    return [
        {
            "node": each.node, "check": each.check, "metric": each.metric, "unit": each.unit,
            "n": len(each.points), "median": each.median, "interval": list(each.interval), "last": each.last.value,
            "verdict": each.last.verdict, "clock_set_back": bool(each.last.epoch),
            "points": [{**point._asdict(), "started": time(point.started)} for point in each.points],
        }
        for each in found
    ]  # fmt: skip
