"""A figure beyond a limit, or whose interval contains its bound, is measured again: what its measurements say together. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nearfar.base import NOT_JUDGED, Finding
from nearfar.measurement import AnyMetric, Document
from nearfar.verdict.references import with_unit

from . import thresholds
from .document_findings import from_counters, from_document
from .messages import BEYOND_USUAL, FAILED_BEFORE, INTERMITTENT, UNCONFIRMED, UNSETTLED
from .verdict_types import FigureLook, JudgedMetric, Verdict
from .words import describe

#: Gives the verdict on a figure by itself.
Judge = Callable[[AnyMetric], JudgedMetric]


@dataclass(frozen=True)
class LaterLook:
    """What was measured again. ``asked`` are the names of the figures that had to be, ``time`` is in UTC as
    2026-11-20T09:00:00Z, ``document`` what was measured (None: ``problem`` says why not), ``figures`` its figures by name."""

    asked: frozenset[str]
    time: str
    document: Document | None = None
    figures: Mapping[str, AnyMetric] = field(default_factory=dict)
    problem: str | None = None


def measured_again(verdict: Finding | JudgedMetric) -> bool:
    """Whether a figure with this verdict is measured again before it counts."""
    return verdict.verdict == "FAIL" or verdict.code in (UNSETTLED.code, BEYOND_USUAL.code)


def findings(later: Sequence[LaterLook], found: Sequence[Finding]) -> list[Finding]:
    """What failed while measuring again (wrong data, a lost device, counters of errors) and is not among the findings already."""
    known = {(each.subject, each.verdict) for each in found}
    documents = [look.document for look in later]
    again = [each for one in documents for each in from_document(one) if each.verdict == "FAIL"]
    again += [each for one in documents for each in from_counters(one) if each.verdict != NOT_JUDGED]
    return list({each.subject: each for each in again if (each.subject, each.verdict) not in known}.values())


def found_before(earlier: Verdict | None, found: Sequence[Finding], judged: Sequence[JudgedMetric]) -> list[Finding]:
    """What an earlier run of the same case found, and this one did not: running again takes back no failure, and no figure that lay
    beyond its bound once. What other load explains, and what did not settle, is measured anew."""
    if earlier is None:
        return []
    stands = []
    for each in (each for each in earlier.findings if each.verdict == "FAIL" or each.code == FAILED_BEFORE.code):
        if not each.fields.get("before"):
            reason = FAILED_BEFORE.text(each.subject, {"reason": each.reason})
            each = replace(each, reason=reason, fields={**each.fields, "before": True})
        stands.append(each)
    stands += [
        FAILED_BEFORE.finding(each.name, verdict=each.verdict, reason=each.full_reason or each.name, before=True)
        for each in earlier.metrics
        if each.verdict == "FAIL" or each.code in (INTERMITTENT.code, UNCONFIRMED.code)
    ]
    known = {(each.subject, each.verdict) for each in (*found, *(entry.finding for entry in judged))}
    return [each for each in stands if (each.subject, each.verdict) not in known]


def settled(
    metric: AnyMetric, entry: JudgedMetric, later: Sequence[LaterLook], time: str, judge: Judge
) -> JudgedMetric:
    """A figure with its measurements, and the verdict of all of them.

    Two beyond the bound, and more than there are within it: FAIL. Two within it, and no fewer than beyond it: DEGRADED, intermittent
    (where none is beyond it, the verdict of the middle one). Otherwise an unsettled figure is judged by the middle one of at least three
    measurements, whose range is its interval; any other is INDETERMINATE. The value is that of a measurement which says so, so that its
    bound says the same. ``metric`` and ``entry`` are the first measurement, made at ``time``; ``judge`` gives the verdict on a figure by
    itself. A figure that was not measured again keeps its verdict.
    """
    again = [look for look in later if entry.name in look.asked] if measured_again(entry) else []
    if not again:
        return entry
    entries, looks = [entry], [_look(entry, time)]
    for look in again:
        if (measured := look.figures.get(entry.name)) is None:
            looks.append(FigureLook(None, look.time, None, look.problem or "not measured again"))
        else:
            entries.append(judge(measured))
            looks.append(_look(entries[-1], look.time))
    entry = replace(entry, looks=tuple(looks))
    beyond = [each for each in entries if each.verdict == "FAIL"]
    within = [each for each in entries if each.verdict not in ("FAIL", "INDETERMINATE")]
    if len(beyond) > 1 and len(beyond) > len(within):
        return replace(_middle(beyond), looks=entry.looks)
    if len(within) > 1:
        made = replace(_middle(within), looks=entry.looks)
        if not beyond:
            return made
        reference = made.reference
        origin = "" if reference is None else f" ({reference.origin}: {with_unit(reference.value, reference.unit)})"
        finding = INTERMITTENT.finding(metric.name, figure=describe(metric), looks=f"{made.looks_words}{origin}")
        return made.judged_as(finding)
    if entry.code == UNSETTLED.code:
        return _by_range(metric, entry, entries, judge)
    if not beyond:
        return entry
    problem = next((look.why for look in looks if look.why), "within its bound as often as beyond it")
    return entry.judged_as(UNCONFIRMED.finding(metric.name, figure=entry.reason, problem=problem))


def _by_range(metric: AnyMetric, entry: JudgedMetric, entries: Sequence[JudgedMetric], judge: Judge) -> JudgedMetric:
    """The entry of an unsettled figure by the middle of its measurements; their range is the interval."""
    usable = (each for each in entries if each.verdict != "INDETERMINATE" or each.code == UNSETTLED.code)
    values = sorted(each.value for each in usable if each.value is not None)
    if len(values) < thresholds.LEAST_MEASUREMENTS:
        return entry
    least, most = values[0], values[-1]
    made = judge(replace(
        metric, value=values[(len(values) - 1) // 2], interval=(least, most), least=least, most=most, n=len(values), samples=(),
        median=None,
    ))  # fmt: skip
    looks = entry.looks
    if made.code != UNSETTLED.code:
        looks = tuple(look if look.value is None else replace(look, beyond=made.verdict == "FAIL") for look in looks)
    return replace(made, looks=looks)


def _look(entry: JudgedMetric, time: str) -> FigureLook:
    if entry.verdict == "INDETERMINATE":
        return FigureLook(entry.value, time, None, entry.reason)
    return FigureLook(entry.value, time, entry.verdict == "FAIL")


def _middle(entries: Sequence[JudgedMetric]) -> JudgedMetric:
    """The middle one by value; of two the lower one."""
    return sorted(entries, key=lambda entry: entry.value or 0.0)[(len(entries) - 1) // 2]
