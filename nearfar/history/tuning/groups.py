"""Whether the figures of a pool are of one population: nodes of two kinds, boards that differ by their slot, or a few bad nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from nearfar.base import places, statistics
from nearfar.verdict.references import with_unit

from . import modes
from .samples import Pool

#: Critical ratios of ``modes.split`` by the number of values: ``benchmarks/critical_gaps.py`` makes them.
#: Two populations are told apart from so much on between their middles, by the kind of row.
APART = {"lone": 0.02, "windowed": 0.04, "stream": 0.04, "latency": 0.04, "percentile": 1.0, "worst": 1.0}
#: Values that differ by more than this factor are not of one kind; the slowest of many transfers are what a moment made them.
TORN, TORN_WORST = 2.0, {"worst": 16.0, "percentile": 8.0}


def apart(pool: Pool, most_bad: float) -> tuple[frozenset[str], str | None]:
    """The nodes of a group that is clearly worse and no more than ``most_bad`` of all: bad nodes, which make no limit; and else that
    the figures are of two groups, which are named."""
    torn = _torn(pool)
    if torn is not None:
        return frozenset(), torn
    nodes = pool.nodes
    names = list(nodes)
    split = _split(list(nodes.values()), pool.kind)
    if split is not None:
        low, high = split.low, split.high
        bad = high if pool.less_is_better else low
        if len(bad) <= most_bad * len(names):
            return frozenset(names[i] for i in bad), None
        return frozenset(), _told("nodes", [((node, ""), value) for node, value in nodes.items()], split, pool.unit)
    # Of GPUs of one class some may sit in a slower slot: a group with metrics of its own on all nodes.
    middle = statistics.median(nodes.values())
    within = [((figure.node, figure.metric), figure.median / nodes[figure.node] * middle) for figure in pool.figures]
    split = _split([value for _, value in within], pool.kind)
    if split is not None:
        metrics = [{within[i][0][1] for i in group} for group in (split.low, split.high)]
        if not metrics[0] & metrics[1]:
            return frozenset(), _told("figures", within, split, pool.unit)
    return frozenset(), None


def critical_gap(n: int) -> float:
    """The ratio of ``modes.split`` that one group of ``n`` exceeds five times in a thousand."""
    table = _table()
    known = max((size for size in table["n"] if size <= n), default=table["n"][0])
    return float(table["ratio"][table["n"].index(known)])


@cache
def _table() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(places.CRITICAL_GAPS.read_text(encoding="utf-8"))
    return loaded


def _split(values: Sequence[float], kind: str) -> modes.TwoGroups | None:
    """Two groups, if the values are clearly of two, whose middles are far enough from each other."""
    groups = modes.split(values)
    if groups is None or groups.ratio <= critical_gap(len(values)):
        return None
    low, high = (statistics.median(values[i] for i in group) for group in (groups.low, groups.high))
    return groups if high - low >= APART[kind] * statistics.median(values) else None


def _torn(pool: Pool) -> str | None:
    """That a median would lie between values that have nothing to do with each other, which are named; None where none does.

    Of few nodes, for which a split is no statistic, none may be ``TORN`` from another: nobody knows which is right.
    """
    nodes, factor = pool.nodes, TORN_WORST.get(pool.kind, TORN)
    low, high = min(nodes.values()), max(nodes.values())
    if len(nodes) < modes.LEAST and high > factor * low:
        parted = (low * high) ** 0.5
        groups = []
        for own in ({n: v for n, v in nodes.items() if v < parted}, {n: v for n, v in nodes.items() if v >= parted}):
            groups.append(f"{_listed(sorted(own))} at {with_unit(statistics.median(own.values()), pool.unit)}")
        return f"two groups of nodes: {'; '.join(groups)}"
    for node in nodes:
        own_values = sorted(value for figure in pool.figures if figure.node == node for value in figure.values)
        below, above = own_values[(len(own_values) - 1) // 2], own_values[len(own_values) // 2]
        if above > factor * below:
            ends = f"{with_unit(below, pool.unit)} and {with_unit(above, pool.unit)}"
            return f"two groups of figures: half of those of {node} lie below, half above {ends}"
    return None


def _told(what: str, named: Sequence[tuple[tuple[str, str], float]], split: modes.TwoGroups, unit: str) -> str:
    groups = []
    for positions, others in ((split.low, split.high), (split.high, split.low)):
        middle = with_unit(statistics.median(named[i][1] for i in positions), unit)
        names = _named([named[i][0] for i in positions], [named[i][0] for i in others])
        groups.append(f"{names} at {middle}")
    return f"two groups of {what}: {'; '.join(groups)}"


def _named(group: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> str:
    """A group by what it alone has: its nodes, else its metrics, else both."""
    for part in (0, 1):
        own = list(dict.fromkeys(names[part] for names in group))
        if not set(own) & {names[part] for names in others}:
            return _listed(own)
    return _listed([" ".join(names) for names in group])


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
