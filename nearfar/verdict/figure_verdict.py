"""The word on one figure: what it is beside its reference and the node's past, with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import NOT_JUDGED, Finding, Message
from nearfar.measurement import (
    CELL_QUANTITIES,
    EXPLAINING,
    RATIO_UNIT,
    SUSTAINED_RATE,
    AnyMetric,
    SubjectMetric,
    consistency,
)
from nearfar.topology import LOCAL_CLASS, Node
from nearfar.verdict.references import Reference, figure, with_unit

from . import baseline, messages, plausibility, thresholds
from .baseline import Baseline
from .verdict_types import JudgedMetric
from .words import against, amount, bound_words, describe

#: Codes of figures that are worse than they should be; what is said of the other direction, by its verdict.
_OF_THE_VALUE = (messages.BEYOND_REFERENCE.code, messages.BEYOND_USUAL.code, messages.BELOW_HISTORY.code)
_OTHER = {"PASS": "is fine", "DEGRADED": "too", "FAIL": "too"}


def unsound(metric: AnyMetric, node: Node | None) -> str | None:
    """Why a figure is none, whatever it should be; None where it is one."""
    if not math.isfinite(metric.value) or (metric.value <= 0 and metric.quantity in CELL_QUANTITIES):
        return f"{metric.value:g} is not a valid figure"
    # Wrong data is named by the program among its failures; a figure that was never verified proves nothing either.
    if metric.verified is False:
        return "the transferred data was not verified"
    wrong = consistency.fault(metric)
    if wrong is not None:
        return f"{amount(metric)}: {wrong}"
    if metric.ceiling is not None and metric.value > metric.ceiling * (1 + thresholds.ABOVE_LINK):
        flows = () if isinstance(metric, SubjectMetric) else metric.cell.flows
        of_host_memory = bool(flows) and all(flow.kind == "stream" for flow in flows)
        what = "memory" if metric.path_class == LOCAL_CLASS or of_host_memory else "link"
        carries = f"above what its {what} can carry, {with_unit(metric.ceiling, metric.unit)}"
        return f"{amount(metric)}, {carries}: not all data was moved, or the {what} is a different one"
    impossible = plausibility.fault(metric, node)
    return None if impossible is None else f"{amount(metric)}, {impossible}"


def _by_reference(
    metric: AnyMetric, reference: Reference | None, acceptance: bool, node: Node | None, elsewhere: str | None
) -> Finding:
    wrong = unsound(metric, node)
    if wrong is not None:
        return _finding(messages.INVALID, metric, flaw=wrong)
    if reference is None and elsewhere:
        return _finding(messages.JUDGED_ELSEWHERE, metric, elsewhere=elsewhere)
    if reference is None or reference.boundless:
        # Derived figures, and parts of 1, explain; the figures that they are derived from are judged. No more runs give a limit to
        # a figure that differs among healthy nodes by more than a fault would change it.
        explains = (
            metric.quantity in (*EXPLAINING, SUSTAINED_RATE)
            or metric.unit == RATIO_UNIT
            or (reference is not None and reference.origin == "tuned")
        )
        verdict = "INDETERMINATE" if acceptance and not explains else NOT_JUDGED
        if reference is None:
            return _finding(messages.NO_REFERENCE, metric, verdict)
        without = messages.NO_LIMIT if reference.origin == "tuned" else messages.NO_BOUND
        return _finding(without, metric, verdict, reference=reference.origin_words)
    # A plateau was reached, however little the visits agree; another look says whether it is reached again.
    span = None if metric.converged or metric.plateau is not None else consistency.span(metric)
    for bound, below in ((reference.lowest, True), (reference.highest, False)):
        if bound is None:
            continue
        outside = metric.value < bound if below else metric.value > bound
        if span is not None and span[0] < bound < span[1]:
            return _finding(
                messages.UNSETTLED, metric, range="interval" if metric.interval else "samples", low=figure(span[0], metric.unit),
                high=with_unit(span[1], metric.unit), bound=with_unit(bound, metric.unit),
            )  # fmt: skip
        if outside:
            expected = bound_words(reference, below)
            second = reference.degraded_below if below else reference.degraded_above
            if second is not None and reference.degraded_words:
                beyond = f"{'below' if below else 'above'} {with_unit(bound, reference.unit)}"
                expected = f"{reference.degraded_words}; {beyond} it is broken"
            reading, expected = against(metric, expected, (bound, second))
            return _finding(messages.BEYOND_REFERENCE, metric, reading=reading, expected=expected)
    low = reference.degraded_below is not None and metric.value < reference.degraded_below
    high = reference.degraded_above is not None and metric.value > reference.degraded_above
    if low or high:
        expected = reference.degraded_words or bound_words(reference, low)
        bound = reference.degraded_below if low else reference.degraded_above
        reading, expected = against(metric, expected, (bound,))
        return _finding(messages.BEYOND_USUAL, metric, reading=reading, expected=expected)
    if acceptance and not reference.accepts:
        return _finding(messages.LIKE_SIBLINGS if reference.origin == "siblings" else messages.NOT_BROKEN, metric)
    return Finding(subject=metric.name, verdict="PASS", reason="")


def _finding(message: Message, metric: AnyMetric, verdict: str = "", **fields: Any) -> Finding:
    return message.finding(
        metric.name, verdict=verdict, **{"figure": describe(metric), "reading": amount(metric), **fields}
    )


def of_figure(
    metric: AnyMetric, reference: Reference | None, past: Baseline | None, acceptance: bool, node: Node | None,
    elsewhere: str | None = None,
) -> Finding:  # fmt: skip
    """The verdict by the reference and, of what passes that, by the node's history. ``elsewhere``: what judges the same fact instead."""
    finding = _by_reference(metric, reference, acceptance, node, elsewhere)
    if past is None or finding.verdict not in ("PASS", NOT_JUDGED) or not (worse := baseline.worsening(metric, past)):
        return finding
    return _finding(messages.BELOW_HISTORY, metric, change=baseline.words(metric, past, worse))


def with_other_direction(judged: Sequence[JudgedMetric]) -> list[JudgedMetric]:
    """The figures; the reason of a host path that is worse than it should be says how the opposite direction is, alone too: a direction
    alone points at another part than both."""
    paths: dict[object, list[JudgedMetric]] = {}
    for entry in judged:
        if (cell := entry.cell) is not None and cell.lone and cell.flows[0].kind == "host" and not entry.derived:
            flow = cell.flows[0]
            paths.setdefault((flow.numa_node, flow.gpus, flow.options, entry.quantity), []).append(entry)
    found = {}
    for entry, path in ((each, pair) for pair in paths.values() for each in pair):
        other = next((each.verdict for each in path if each.subject != entry.subject), "")
        if entry.code in _OF_THE_VALUE and other in _OTHER:
            found[entry.name] = replace(entry, reason=f"{entry.reason}; the other direction {_OTHER[other]}")
    return [found.get(entry.name, entry) for entry in judged]
