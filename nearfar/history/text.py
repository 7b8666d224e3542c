"""Series as lines of text and as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import columns, day_text, minute_text, utc_text
from nearfar.verdict.references import figure, software_changes

from .fleet_shift import FleetShift
from .series import DISTURBED, Point, Series, sparkline


def table(found: Sequence[Series], most: int | None) -> list[str]:
    """A line for each series, ``most`` of them, with what they have in common above."""
    shown = list(found[:most])
    common = {name: {getattr(each, name) for each in shown} for name in ("node", "check", "metric", "unit")}
    keys = [name for name in ("node", "check", "metric") if len(common[name]) > 1] or ["node"]
    title = ", ".join(next(iter(common[name])) for name in ("metric", "check", "node") if name not in keys)
    first, last = (pick(p.started for each in found for p in each.points) for pick in (min, max))
    units = f", {_unit(shown[0].unit)}" if len(common["unit"]) == 1 else ""
    lines = [f"{f'{title}{units}: ' if title else ''}{day_text(first)} to {day_text(last)}, the worst first"]
    rows = [(*keys, "runs", "median", "interval", "last", "verdict", "")]
    # Of one figure all lines have one scale; of several each has its own.
    every = [value for each in shown for value in each.values]
    scale = (min(every), max(every)) if len(common["metric"]) == 1 and len(shown) > 1 else None
    for each in shown:
        low, high = each.interval
        rows.append((
            *(str(getattr(each, key)) for key in keys), str(len(each.points)), figure(each.median, each.unit),
            f"{figure(low, each.unit)} – {figure(high, each.unit)}", figure(each.last.value, each.unit),
            f"{each.last.verdict}{each.last.mark}{_how_often(each)}", sparkline(each.values, *(scale or _scale(each))),
        ))  # fmt: skip
    lines += columns(rows, right=[len(keys), len(keys) + 1, len(keys) + 3])
    if len(found) > len(shown):
        lines.append(f"… and {len(found) - len(shown)} more (--all)")
    return lines + _legend([each.last for each in shown])


def _legend(points: Sequence[Point]) -> list[str]:
    """What the mark ``*`` says, where it stands; the kinds of disturbance once each."""
    kinds = dict.fromkeys(point.disturbance for point in points if point.disturbance is not None)
    return [f"* disturbed: {'; '.join(DISTURBED.get(kind, kind) for kind in kinds)}"] if kinds else []


def _how_often(one: Series) -> str:
    """In how many runs a figure was intermittent; nothing where it never was."""
    return f", intermittent in {one.intermittent} of {len(one.points)}" if one.intermittent else ""


def _scale(one: Series) -> tuple[float, float]:
    """From the least to the most, and wide enough that mere noise stays flat."""
    return min(*one.values, 0.97 * one.median), max(*one.values, 1.01 * one.median)


def _unit(unit: str) -> str:
    return "a ratio" if unit == "1" else "µs" if unit == "us" else unit


def runs(one: Series) -> list[str]:
    """One figure of one node, run by run."""
    low, high = one.interval
    lines = [
        f"{one.metric} ({one.check}) of {one.node}, {_unit(one.unit)}: median {figure(one.median, one.unit)}, "
        f"{figure(low, one.unit)} to {figure(high, one.unit)}, {len(one.points)} run{'s' if len(one.points) > 1 else ''}{_how_often(one)}",
        sparkline(one.values, *_scale(one), 60),
    ]
    rows = []
    for point in one.points:
        interval = "" if point.low is None or point.high is None else (
            f"{figure(point.low, one.unit)} – {figure(point.high, one.unit)}")  # fmt: skip
        rows.append((minute_text(point.started), figure(point.value, one.unit), interval, point.words, point.run))
    return lines + columns(rows, right=[1]) + _legend(one.points)


def shifts(found: Sequence[FleetShift], most: int | None) -> list[str]:
    """A line for each row that moved with new software, ``most`` of them, the greatest change first."""
    shown = sorted(found, key=lambda each: (each.first_seen, abs(each.part)), reverse=True)[:most]
    rows = [("since", "software", "check", "row", "GPU", "change", "interval", "nodes")]
    for each in shown:
        rows.append((
            each.first_seen, each.changed, each.check, each.row, each.gpu_model or "-", software_changes.signed_percent(each.part),
            f"{software_changes.signed_percent(each.low)} to {software_changes.signed_percent(each.high)}", f"{each.seen} of {each.nodes}",
        ))  # fmt: skip
    lines = columns(rows, right=[5]) if shown else []
    return [*lines, *([f"… and {len(found) - len(shown)} more (--all)"] if len(found) > len(shown) else [])]


def shifts_as_json(found: Sequence[FleetShift]) -> list[dict[str, object]]:
    """The shifts as plain values."""
    return [{**vars(each), "before": dict(each.before), "after": dict(each.after)} for each in found]


def as_json(found: Sequence[Series]) -> list[dict[str, object]]:
    """The series as plain values."""
    return [
        {
            "node": each.node, "check": each.check, "metric": each.metric, "unit": each.unit,
            "n": len(each.points), "median": each.median, "interval": list(each.interval), "last": each.last.value,
            "verdict": each.last.verdict, "clock_set_back": bool(each.last.epoch),
            "points": [{**point._asdict(), "started": utc_text(point.started)} for point in each.points],
        }
        for each in found
    ]  # fmt: skip
