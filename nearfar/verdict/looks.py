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

#: Why a look of an earlier run that lay beyond the bound counts neither way.
DISTURBED = "other load disturbed an earlier measurement"


@dataclass(frozen=True)
class LaterLook:
    """What was measured again. ``asked`` are the names of the figures that had to be, ``time`` is in UTC as
    2026-11-20T09:00:00Z, ``document`` what was measured (None: ``problem`` says why not), ``figures`` its figures by name."""

    asked: frozenset[str]
    time: str
    document: Document | None = None
    figures: Mapping[str, AnyMetric] = field(default_factory=dict)
    problem: str | None = None


#: A look with the entry that it makes; None where it has none of its own.
_Seen = tuple[FigureLook, JudgedMetric | None]


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


def failed_before(earlier: Verdict | None, found: Sequence[Finding], metrics: Sequence[AnyMetric]) -> list[Finding]:
    """What an earlier run of the same case found failed, and this one did not, or did not measure: running again takes nothing
    back. A figure that is among ``metrics`` is weighed with its earlier looks instead."""
    if earlier is None:
        return []
    known = {(each.subject, each.verdict) for each in found}
    measured = {metric.name for metric in metrics}
    failed = []
    for each in earlier.findings:
        if each.verdict == "FAIL" and not each.fields.get("before"):
            reason = FAILED_BEFORE.text(each.subject, {"reason": each.reason})
            each = replace(each, reason=reason, fields={**each.fields, "before": True})
        failed += [each] if each.verdict == "FAIL" else []
    failed += [
        FAILED_BEFORE.finding(entry.subject, reason=entry.full_reason or entry.name, before=True)
        for entry in earlier.metrics
        if entry.verdict == "FAIL" and entry.name not in measured
    ]
    return [each for each in failed if (each.subject, each.verdict) not in known]


def settle(
    metrics: Sequence[AnyMetric],
    judged: Sequence[JudgedMetric],
    later: Sequence[LaterLook],
    earlier: Verdict | None,
    time: str,
    judge: Callable[[AnyMetric], JudgedMetric],
) -> list[JudgedMetric]:
    """The figures with their looks, each with the word on all of them.

    Two looks beyond the bound, and more than there are within it: FAIL. Two within it, and no fewer than beyond it: DEGRADED, intermittent
    (where none is beyond it, the verdict of one of them). Otherwise an unsettled figure is judged by the middle one of at least three
    measurements, whose range is its interval; any other is INDETERMINATE. The value is that of a look which says so, so that its bound says
    the same. ``metrics`` and ``judged`` are the first look of this run, made at ``time``, ``earlier`` the verdict of the same case before
    it was run again, ``judge`` the word on a figure by itself. A figure that was not measured again keeps its word.
    """
    before = {} if earlier is None else {entry.name: _before(entry, earlier.time) for entry in earlier.metrics}
    found = []
    for metric, entry in zip(metrics, judged, strict=True):
        seen = [*before.get(metric.name, ()), _look(entry, time)]
        for look in later if measured_again(entry) else ():
            again = look.figures.get(metric.name)
            if metric.name in look.asked and again is not None:
                seen.append(_look(judge(again), look.time))
            elif metric.name in look.asked:
                seen.append((FigureLook(None, look.time, None, look.problem or "not measured again"), None))
        found.append(_settled(metric, entry, seen, judge))
    return found


def _settled(
    metric: AnyMetric, entry: JudgedMetric, seen: Sequence[_Seen], judge: Callable[[AnyMetric], JudgedMetric]
) -> JudgedMetric:
    looks = tuple(look for look, _ in seen)
    beyond, within = ([each for each in seen if each[0].beyond is side] for side in (True, False))
    unsettled = entry.code == UNSETTLED.code
    if len(seen) == 1 or not (beyond or measured_again(entry)):
        return entry
    if len(beyond) > 1 and len(beyond) > len(within):
        return replace(_middle(beyond, entry), looks=looks, verdict="FAIL")
    if len(within) > 1:
        made = replace(_middle(within, entry), looks=looks)
        if not beyond:
            return made
        reference = made.reference
        origin = "" if reference is None else f" ({reference.origin}: {with_unit(reference.value, reference.unit)})"
        finding = INTERMITTENT.finding(metric.name, figure=describe(metric), looks=f"{made.looks_words}{origin}")
        return made.judged_as(finding)
    if unsettled:
        return _by_their_range(metric, entry, seen, judge)
    if not beyond:
        return replace(entry, looks=looks)
    problem = next((look.why for look in looks if look.why), "within its bound as often as beyond it")
    entry = replace(entry, looks=looks)
    reason = entry.reason or f"{describe(metric)}: {entry.looks_words}"
    return entry.judged_as(UNCONFIRMED.finding(metric.name, figure=reason, problem=problem))


def _by_their_range(
    metric: AnyMetric, entry: JudgedMetric, seen: Sequence[_Seen], judge: Callable[[AnyMetric], JudgedMetric]
) -> JudgedMetric:
    """The entry of an unsettled figure by the middle of its measurements; their range is the interval."""
    looks = tuple(look for look, _ in seen)
    values = sorted(
        each.value for _, each in seen
        if each and each.value is not None and (each.verdict != "INDETERMINATE" or each.code == UNSETTLED.code)
    )  # fmt: skip
    if len(values) < thresholds.LEAST_MEASUREMENTS:
        return replace(entry, looks=looks)
    least, most = values[0], values[-1]
    made = judge(replace(
        metric, value=values[(len(values) - 1) // 2], interval=(least, most), least=least, most=most, n=len(values), samples=(),
        median=None,
    ))  # fmt: skip
    if made.code != UNSETTLED.code:
        looks = tuple(look if look.value is None else replace(look, beyond=made.verdict == "FAIL") for look in looks)
    return replace(made, looks=looks)


def _before(entry: JudgedMetric, time: str) -> list[_Seen]:
    """The looks of an earlier run of the same case; the one whose value was judged has the entry. One beyond the bound that
    others explain says nothing of the node."""
    if not entry.looks:
        return [_look(entry, time)]
    if entry.disturbance and entry.verdict == "INDETERMINATE":
        return [(replace(look, beyond=None, why=DISTURBED) if look.beyond else look, None) for look in entry.looks]
    return [(look, entry if look.value == entry.value else None) for look in entry.looks]


def _look(entry: JudgedMetric, time: str) -> _Seen:
    if entry.verdict == "INDETERMINATE":
        return FigureLook(entry.value, time, None, entry.reason), entry
    return FigureLook(entry.value, time, entry.verdict == "FAIL"), entry


def _middle(seen: Sequence[_Seen], entry: JudgedMetric) -> JudgedMetric:
    """The entry of the middle one of some looks, by value; of the lower one of two. Where none of them has one any more, it is
    ``entry`` with the middle value alone."""
    made = sorted((own for _, own in seen if own is not None), key=lambda own: own.value or 0.0)
    if made:
        return made[(len(made) - 1) // 2]
    values = sorted(look.value for look, _ in seen if look.value is not None)
    return replace(
        entry, value=values[(len(values) - 1) // 2], interval=None, n=None, least=None, most=None, samples=(),
        plateau=None, median=None, steadiness=None,
    )  # fmt: skip
