"""Figures, changes and sides in words that terminals and pages share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from nearfar import cells
from nearfar.base import grouped, listed, minute_text, utc_time
from nearfar.measurement import figure_kind
from nearfar.report import title
from nearfar.report.figures import number, percent, plural
from nearfar.topology import SETTINGS
from nearfar.verdict import JudgedMetric

from .changes import SETTLED_BY_RUNS, FigureChange, SideValue
from .comparison import OnlyOne, RunComparison
from .settings import ChangedSetting
from .sides import Side
from .spreads import ASSUMED, WEIGHT, WORDS

_OfNode = TypeVar("_OfNode", ChangedSetting, OnlyOne)
#: Names of nodes in one line.
_NAMED = 4
_DIRECTIONS = {"h2d": "H2D", "d2h": "D2H", "p2p": "GPU to GPU", "d2d": "within the GPU"}
_DERIVED = {
    "latency_copy": "copy latency", "latency_chase": "latency of loads", "latency_launch": "launch latency",
    "over_near": "over near", "half_bandwidth": "size of half the rate", "task_over_fair": "task over its fair share",
    "smaller_size": "over smaller arrays", "over_alone": "over what it does alone",
}  # fmt: skip


def figure(metric: JudgedMetric) -> str:
    """A figure's name to a reader: ``H2D n0→g0``, ``sum of n0→g0 + g0→n0``, ``copy latency n0→g0``."""
    cell = metric.cell
    if cell is None:
        return metric.name if metric.subject in metric.name else f"{metric.subject} {metric.question or metric.name}"
    pretty = cells.pretty(cell)
    if metric.derived:
        flow = f" ({cells.pretty(metric.flow)})" if metric.flow is not None and not cell.lone else ""
        return f"{_DERIVED.get(metric.derived, metric.derived.replace('_', ' '))} {pretty}{flow}"
    if metric.flow is not None and not cell.lone:
        others = [cells.pretty(flow) for flow in cell.flows if flow != metric.flow]
        return f"share of {cells.pretty(metric.flow)} beside {' + '.join(others)}"
    if not cell.lone:
        return f"sum of {pretty}"
    if cell.flows[0].kind in ("stream", "gpu_stream"):
        return f"STREAM {pretty}"
    direction = cell.flows[0].direction
    return f"{_DIRECTIONS.get(direction, direction)} {pretty}"


def name(change: FigureChange, several: bool) -> str:
    """The figure; with its node where there are ``several``: ``… on gpu001``, ``… on gpu001 → gpu002``, ``… on 43 nodes together``."""
    if not several:
        return figure(change.metric)
    of = f"{len(change.nodes)} nodes together" if change.across else " → ".join(dict.fromkeys(change.nodes[0]))
    return f"{figure(change.metric)} on {of}"


def value(side: SideValue, unit: str) -> str:
    """``55.5``, to the hundredth where that shows a change of a per mille."""
    return f"{side.value:.2f}" if side.value < 1000 and unit != "B" else number(side.value, unit)


def answer(comparison: RunComparison) -> str:
    """The comparison in one line."""
    tested = plural(len(comparison.tested), "figure")
    worse = [change for change in comparison.significant if change.worse]
    better = [change for change in comparison.significant if not change.worse]
    several = len(comparison.nodes) > 1
    if comparison.disturbed:
        which = "both runs were" if len(comparison.disturbed) > 1 else f"the run {comparison.disturbed[0]} was"
        return f"cannot compare: {which} disturbed by other load"
    if not comparison.tested and not comparison.doubtful:
        return "cannot compare: only ratios and shares are on both sides"
    if not comparison.tested:
        count = plural(len(comparison.doubtful), "figure")
        return f"cannot compare: none of {count} is without doubt ({doubts(comparison)})"
    if not worse and not better:
        return f"no change that is more than chance in {tested}"
    parts: list[str] = []
    for label, changes in (("slower", worse), ("faster", better)):
        if changes:
            most = max(changes, key=lambda change: abs(change.change))
            of = str(len(comparison.tested)) if parts else tested
            up_to = "up to " if len(changes) > 1 else ""
            parts.append(f"{label}: {len(changes)} of {of}, {up_to}{percent(most.change)} ({where(most, several)})")
    return "; ".join(parts)


def against(comparison: RunComparison, at_most: float) -> str:
    """What is slower by more than the bound, and how many figures could not have shown it, in one line."""
    beyond = comparison.beyond(at_most)
    blind = sum(change.seen_from is not None and change.seen_from > at_most for change in comparison.tested)
    slower = f"{plural(len(beyond), 'figure')} slower" if beyond else "nothing is slower"
    slower += f" by more than {at_most * 100:g} %"
    unsure = [f"{plural(blind, 'figure')} would show only greater changes"] if blind else []
    unsure += [f"{plural(len(comparison.doubtful), 'figure')} undecided"] if comparison.doubtful else []
    return f"{slower}; {', '.join(unsure)}" if unsure else slower


def doubts(comparison: RunComparison) -> str:
    """Why figures could not be told, with counts: ``disturbed by others 12, not converged 3``."""
    counts = Counter(doubt for change in comparison.doubtful for doubt in change.doubts)
    counted = ", ".join(f"{doubt} {count}" for doubt, count in counts.most_common())
    few = "not converged" in counts and min(len(comparison.before.runs), len(comparison.after.runs)) < SETTLED_BY_RUNS
    return counted + (f"; what did not converge counts from {SETTLED_BY_RUNS} runs a side on" if few else "")


def seen_from(comparison: RunComparison) -> str:
    """From which change on a figure would have been found, by kind: ``copies alone 1.7 %, host memory 18 %``."""
    known = (each for each in comparison.tested if not each.across)
    smallest_by_kind = grouped((each.kind, each.seen_from) for each in known if each.seen_from is not None)
    middles = {kind: sorted(values)[len(values) // 2] * 100 for kind, values in smallest_by_kind.items()}
    return ", ".join(f"{WORDS[kind]} {value:.{0 if value >= 10 else 1}f} %" for kind, value in middles.items())


def side(runs_side: Side) -> str:
    """``5 runs of vm, 2026-11-22 20:21 to 20:23``."""
    times = sorted({str(run.raw["started"]) for run in runs_side.runs if run.raw.get("started")})
    first, last = (_minute(time) for time in (times[0], times[-1])) if times else ("time unknown", "time unknown")
    if first[:11] == last[:11]:
        last = last[11:] if last != first else first
    nodes = listed([node.name for node in runs_side.nodes], _NAMED)
    return f"{plural(len(runs_side.runs), 'run')} of {nodes}, {first}{f' to {last}' if last != first else ''} UTC"


def _minute(text: str) -> str:
    try:
        return minute_text(utc_time(text))
    except ValueError:
        return text


def by_nodes(comparison: RunComparison, entries: Sequence[_OfNode]) -> list[tuple[_OfNode, str]]:
    """Entries that are alike but for their node as one, each with its nodes in words: ``all 12 nodes``, ``gpu001, gpu002``; empty
    where one node is compared."""
    groups = grouped((replace(entry, node=""), entry.node) for entry in entries)
    if len(comparison.nodes) == 1:
        return [(entry, "") for entry in groups]
    return [
        (entry, f"all {len(nodes)} nodes" if len(nodes) == len(comparison.nodes) else listed(nodes, _NAMED))
        for entry, nodes in groups.items()
    ]


def explained(comparison: RunComparison, setting: ChangedSetting) -> str:
    """In parentheses the kinds of figures that changed, and that a setting can explain; empty where there are none."""
    known = next((each.explains for each in SETTINGS if each.title == setting.what), ())
    changed = {figure_kind(change.metric.quantity, change.metric.cell) for change in comparison.significant}
    kinds = ", ".join(kind for kind in known if kind in changed)
    return f" (can explain what changed of {kinds})" if kinds else ""


def where(change: FigureChange, several: bool) -> str:
    """The figure with its check: ``H2D n0→g0, Host ↔ GPU``."""
    return f"{name(change, several)}, {title(change.check)}"


def mark(change: FigureChange) -> str:
    """What is to be known of a row: ``slower``, ``faster``, why it cannot tell, or nothing."""
    if change.significant:
        return "slower" if change.worse else "faster"
    if not change.counted:
        return "not counted"
    return change.doubts[0] if change.doubts else ""


def assumption(comparison: RunComparison) -> str:
    """How much figures were assumed to differ from run to run."""
    kinds = list(dict.fromkeys(change.kind for change in comparison.tested if not change.across))
    spreads = ", ".join(f"{WORDS[kind]} {ASSUMED[kind] * 100:g} %" for kind in kinds)
    several = max(len(comparison.before.runs), len(comparison.after.runs)) > 1
    weight = f", as {WEIGHT} runs' worth beside the spread of these runs" if several else ""
    return f"assumed spread from run to run (standard deviation), at most{weight}: {spreads}" if spreads else ""
