"""Paths that reach what they should, and not always: on an own host below a limit, on a shared one beside alike paths. Pure.

The limits and where they come from: docs/references.md#other-load; of single transfers benchmarks/studies/copies.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from nearfar.base import NOT_JUDGED, Finding
from nearfar.cells import Flow
from nearfar.measurement import AnyMetric, Document
from nearfar.verdict.references import figure, more_digits, with_unit

from . import messages, thresholds
from .verdict_types import JudgedMetric, cell_of
from .words import describe


@dataclass(frozen=True)
class _Path:
    """A lone copy: when it was visited, in seconds, and whether that visit was low."""

    entry: JudgedMetric
    what: str
    flow: Flow
    visits: tuple[tuple[float, bool], ...]

    def low(self, until: float) -> int:
        return sum(low for at, low in self.visits if at <= until)

    @property
    def reached(self) -> dict[str, Any]:
        """What a finding says of it."""
        return {"figure": self.what, "plateau": with_unit(self.entry.plateau or 0.0, self.entry.unit)}


def apply(
    metrics: Sequence[AnyMetric], judged: Sequence[JudgedMetric], document: Document | None, host: str
) -> list[JudgedMetric]:
    """The figures, with DEGRADED for lone copies that pass by their plateau and were not steady.

    On an ``own`` host: steadiness below ``LEAST_STEADINESS``, or a median below the reference's bound. On a ``shared`` one: a GPU whose
    paths in both directions had low visits, while alike paths of other GPUs had none in the same rounds.
    """
    if document is None or document.kind != "measured":
        return list(judged)
    visits = {(r["quantity"], r["cell"], r.get("bytes")): r for r in document.raw["results"] if r.get("visits")}
    pairs = zip(metrics, judged, strict=True)
    paths = [path for metric, entry in pairs if (path := _path(entry, describe(metric), visits)) is not None]
    limits = {path.entry.name: finding for path in paths if host == "own" and (finding := _limits(path)) is not None}
    unsteady = limits if host == "own" else _beside_alike(paths)
    return [
        entry.judged_as(unsteady[entry.name])
        if entry.name in unsteady and entry.verdict in ("PASS", NOT_JUDGED) else entry
        for entry in judged
    ]  # fmt: skip


def outliers(metrics: Sequence[AnyMetric], judged: Sequence[JudgedMetric], host: str) -> list[JudgedMetric]:
    """The figures, with DEGRADED for a single transfer that took many times as long as the others, where no reference judges it: no
    median and no rate sees it. On an ``own`` host; on a ``shared`` one it may be a neighbour's, and is only told (``tail_check``)."""
    limit, found = thresholds.WORST_DEGRADED, list(judged)
    for place, (metric, entry) in enumerate(zip(metrics, judged, strict=True)):
        outlier = metric.derived == "tail_worst" and metric.value >= limit and entry.verdict == NOT_JUDGED
        if outlier and host == "own":
            finding = messages.OUTLIER.finding(entry.name, figure=describe(metric), ratio=metric.value, limit=limit)
            found[place] = entry.judged_as(finding)
    return found


def _path(
    entry: JudgedMetric, what: str, results: Mapping[tuple[str, str, int | None], Mapping[str, Any]]
) -> _Path | None:
    result = results.get((entry.quantity, entry.subject, entry.bytes))
    cell = cell_of(entry.subject)
    large = entry.quantity == "copy" and (entry.bytes or 0) >= thresholds.STEADY_BYTES
    if result is None or cell is None or not cell.lone or not large or not entry.plateau:
        return None
    flow, samples = cell.flows[0], result["flows"][0]["rate"].get("samples") or []
    if entry.derived or entry.judged_elsewhere or flow.tasks > 1 or flow.pageable:
        return None
    visits, first = [], 0
    for visit in result["visits"]:
        own, first = samples[first : first + visit["n"]], first + visit["n"]
        if own:
            visits.append((float(visit["at"]), median(own) < (1 - thresholds.LOW_ROUND) * entry.plateau))
    return _Path(entry, what, flow, tuple(visits)) if len(visits) >= thresholds.STEADY_ROUNDS else None


def _limits(path: _Path) -> Finding | None:
    entry = path.entry
    if entry.plateau is None or entry.median is None or entry.steadiness is None:
        return None
    bounds = [entry.degraded_below, entry.reference.lowest if entry.reference else None]
    bound = max((bound for bound in bounds if bound is not None), default=None)
    if bound is not None and entry.median < bound:
        more = more_digits([entry.median], [bound], entry.unit)
        low, least = figure(entry.median, entry.unit, more), with_unit(bound, entry.unit, more)
        return messages.MEDIAN_BELOW.finding(entry.name, **path.reached, median=low, bound=least)
    if entry.steadiness >= thresholds.LEAST_STEADINESS:
        return None
    return messages.UNSTEADY.finding(
        entry.name, **path.reached, median=figure(entry.median, entry.unit), steadiness=entry.steadiness,
        least=thresholds.LEAST_STEADINESS,
    )  # fmt: skip


def _beside_alike(paths: Sequence[_Path]) -> dict[str, Finding]:
    """By the figure's name, of each GPU that is unsteady where others are not, what to say."""
    found: dict[str, Finding] = {}
    for gpu in sorted({gpu for path in paths for gpu in path.flow.gpus}):
        lows, clear = {}, False
        for kind in dict.fromkeys(_kind(path) for path in paths if gpu in path.flow.gpus):
            alike = [path for path in paths if _kind(path) == kind and gpu not in path.flow.gpus]
            if not alike:
                continue
            until = max(at for path in alike for at, _ in path.visits) + thresholds.ROUND
            own = [path for path in paths if _kind(path) == kind and gpu in path.flow.gpus]
            low, number = sum(path.low(until) for path in own), sum(at <= until for p in own for at, _ in p.visits)
            steady = not any(path.low(until) for path in alike)
            clear |= steady and low >= thresholds.LOW_ROUNDS and low >= thresholds.LOW_ROUND_SHARE * number
            others = f"similar paths ({', '.join(str(path.flow) for path in alike[:3])})"
            beside = f"{others} were steady in the same rounds" if steady else f"so were {others}"
            for path in (path for path in own if path.low(until)):
                entry = path.entry
                limit = with_unit((1 - thresholds.LOW_ROUND) * (entry.plateau or 0.0), entry.unit)
                lows[kind, entry.name] = messages.LOW_VISITS.finding(
                    entry.name, **path.reached, low=path.low(until), visits=sum(at <= until for at, _ in path.visits),
                    limit=limit, others=beside,
                )  # fmt: skip
        if clear and len({kind for kind, _ in lows}) > 1:
            found.update({name: finding for (_, name), finding in lows.items()})
    return found


def _kind(path: _Path) -> tuple[object, ...]:
    """What alike paths have in common: the memory, the direction, how it is copied and in which pieces."""
    flow = path.flow
    read = flow.kind == "peer" and flow.driver is not None
    return flow.kind, flow.direction, flow.numa_node, flow.options, read, path.entry.bytes
