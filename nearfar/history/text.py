"""Series as lines of text and as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import columns, day_text, minute_text, plural, utc_text
from nearfar.verdict.references import FleetLevel, figure, software_changes, with_unit

from .series import DISTURBED, Point, Series, sparkline


def table(series: Sequence[Series], most: int | None) -> list[str]:
    """A line for each series, ``most`` of them, with what they have in common above."""
    shown = list(series[:most])
    common = {name: {getattr(s, name) for s in shown} for name in ("node", "check", "metric", "unit")}
    keys = [name for name in ("node", "check", "metric") if len(common[name]) > 1] or ["node"]
    title = ", ".join(next(iter(common[name])) for name in ("metric", "check", "node") if name not in keys)
    first, last = (pick(p.started for s in series for p in s.points) for pick in (min, max))
    units = f", {_unit(shown[0].unit)}" if len(common["unit"]) == 1 else ""
    lines = [f"{f'{title}{units}: ' if title else ''}{day_text(first)} to {day_text(last)}, the worst first"]
    rows = [(*keys, "runs", "median", "interval", "last", "verdict", "")]
    # Of one figure all lines have one scale; of several each has its own.
    every = [value for s in shown for value in s.values]
    scale = (min(every), max(every)) if len(common["metric"]) == 1 and len(shown) > 1 else None
    for s in shown:
        low, high = s.interval
        rows.append((
            *(str(getattr(s, key)) for key in keys), str(len(s.points)), figure(s.median, s.unit),
            f"{figure(low, s.unit)} – {figure(high, s.unit)}", figure(s.last.value, s.unit),
            f"{s.last.verdict}{s.last.mark}{_how_often(s)}", sparkline(s.values, *(scale or _scale(s))),
        ))  # fmt: skip
    lines += columns(rows, right=[len(keys), len(keys) + 1, len(keys) + 3])
    if len(series) > len(shown):
        lines.append(f"… and {len(series) - len(shown)} more (--all)")
    return lines + _legend([s.last for s in shown])


def _legend(points: Sequence[Point]) -> list[str]:
    """What the mark ``*`` says, where it stands; the kinds of disturbance once each."""
    kinds = dict.fromkeys(point.disturbance for point in points if point.disturbance is not None)
    return [f"* disturbed: {'; '.join(DISTURBED.get(kind, kind) for kind in kinds)}"] if kinds else []


def _how_often(series: Series) -> str:
    """In how many runs a figure was intermittent; nothing where it never was."""
    return f", intermittent in {series.intermittent} of {len(series.points)}" if series.intermittent else ""


def _scale(series: Series) -> tuple[float, float]:
    """From the least to the most, and wide enough that mere noise stays flat."""
    return min(*series.values, 0.97 * series.median), max(*series.values, 1.01 * series.median)


def _unit(unit: str) -> str:
    return "a ratio" if unit == "1" else "µs" if unit == "us" else unit


def runs(series: Series) -> list[str]:
    """One figure of one node, run by run."""
    low, high = series.interval
    unit, count = series.unit, plural(len(series.points), "run")
    lines = [
        f"{series.metric} ({series.check}) of {series.node}, {_unit(unit)}: median {figure(series.median, unit)}, "
        f"{figure(low, unit)} to {figure(high, unit)}, {count}{_how_often(series)}",
        sparkline(series.values, *_scale(series), 60),
    ]
    rows = []
    for point in series.points:
        bounds = (point.low, point.high)
        interval = "" if None in bounds else " – ".join(figure(bound, unit) for bound in bounds if bound is not None)
        rows.append((minute_text(point.started), figure(point.value, unit), interval, point.words, point.run))
    return lines + columns(rows, right=[1]) + _legend(series.points)


def shifts(changes: Sequence[tuple[FleetLevel, FleetLevel]], most: int | None) -> list[str]:
    """A line for each entry that new software changed (before, after), ``most`` of them, the latest and the greatest change first."""
    by_day = [(after.first_seen, abs(after.part(before.value)), before, after) for before, after in changes]
    shown = sorted(by_day, key=lambda change: change[:2], reverse=True)[:most]
    rows = [("since", "software", "check", "row", "GPU", "before", "after", "change", "nodes")]
    for day, _, before, after in shown:
        rows.append((
            day, software_changes.changed_words(before.software, after.software), after.check, after.row, after.gpu_model or "-",
            with_unit(before.value, after.unit), with_unit(after.value, after.unit),
            software_changes.signed_percent(after.part(before.value)), f"{before.nodes}, {after.nodes}",
        ))  # fmt: skip
    lines = columns(rows, right=[5, 6, 7]) if shown else []
    return [*lines, *([f"… and {len(changes) - len(shown)} more (--all)"] if len(changes) > len(shown) else [])]


def as_json(series: Sequence[Series]) -> list[dict[str, object]]:
    """The series as plain values."""
    return [
        {
            "node": s.node, "check": s.check, "metric": s.metric, "unit": s.unit,
            "n": len(s.points), "median": s.median, "interval": list(s.interval), "last": s.last.value,
            "verdict": s.last.verdict, "clock_set_back": bool(s.last.epoch),
            "points": [{**point._asdict(), "started": utc_text(point.started)} for point in s.points],
        }
        for s in series
    ]  # fmt: skip
