"""The figures of a verdict as decisions and pages about many nodes need them: columns, without samples and looks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nearfar.base import good

from .references import WIDENED
from .verdict_types import JudgedMetric


class FigureColumns(NamedTuple):
    """One entry a figure in each, in the verdict's order. ``rows``: the reference's row that speaks of it most generally; ``values`` are in
    ``units``, None: it was no number. ``lowest`` to ``above`` are the bounds of what has a reference (``below`` and ``above``: beyond
    which it is DEGRADED); None: no bound.

    ``passed``: judged and inside bounds that say something; ``counted``: whether its verdict counts; ``intermittent``: DEGRADED, since it
    was beyond its bound in some looks alone."""

    names: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    values: tuple[float | None, ...] = ()
    lowest: tuple[float | None, ...] = ()
    highest: tuple[float | None, ...] = ()
    below: tuple[float | None, ...] = ()
    above: tuple[float | None, ...] = ()
    passed: tuple[bool, ...] = ()
    counted: tuple[bool, ...] = ()
    intermittent: tuple[bool, ...] = ()


def columns(metrics: Iterable[JudgedMetric]) -> FigureColumns:
    """The columns of judged figures."""
    entries = [_entry(metric) for metric in metrics]
    return FigureColumns(*zip(*entries)) if entries else FigureColumns()


def _entry(metric: JudgedMetric) -> tuple[object, ...]:
    reference, counts = metric.reference, _counts(metric)
    bounds: tuple[float | None, ...] = (None, None, None, None)
    if reference is not None:
        bounds = reference.lowest, reference.highest, metric.degraded_below, metric.degraded_above
    # Bounds that were only widened, because the software is another and nobody knows yet what it does, say nothing.
    passed = counts and reference is not None and reference.stale_bounds != WIDENED and good(metric.verdict)
    row = metric.rows[-1] if metric.rows else ""
    intermittent = counts and metric.verdict == "DEGRADED" and metric.intermittent
    return (
        metric.name, metric.subject, metric.unit, row, metric.verdict, metric.value, *bounds, passed, counts, intermittent
    )  # fmt: skip


def _counts(metric: JudgedMetric) -> bool:
    """Whether a figure's verdict counts: judges of before held figures against stale rows as if nothing had changed."""
    reference = metric.reference
    return reference is None or not reference.stale or reference.stale_bounds is not None
