"""The judge: what was measured × what it should be × the past → verdicts with reasons. Pure; nothing else judges.

ReFrame gets the same bounds, and pages, exit codes and drains read what this wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import NOT_JUDGED, ORDER, Finding, passes, worst
from nearfar.cells import Cell, Flow, Skip
from nearfar.measurement import (
    MADE_OF_OTHERS,
    OF_ANOTHER_TOOL,
    AnyMetric,
    BaseMetric,
    Document,
    SubjectMetric,
    Unmeasured,
    shared,
    without_samples,
)
from nearfar.question import judged_elsewhere
from nearfar.topology import Node
from nearfar.verdict.references import Reference, question_of, row_keys

from . import common_factor, disturbances, document_facts, figure_verdict, looks, messages, steadiness
from .baseline import Baseline, worsening
from .document_findings import (
    CaseInfo,
    KnownPath,
    from_counters,
    from_document,
    from_kind,
    from_missing,
    from_nothing,
    from_nothing_accepted,
    from_nothing_judged,
    from_siblings_only,
    from_skips,
    from_started,
    missing_subjects,
)
from .looks import LaterLook
from .verdict_types import JudgedMetric, JudgedReference, PastRuns, Verdict
from .words import amount, describe

#: What a finding speaks of that says why nothing was compared with the node's past.
HISTORY = "history"


def judge(
    document: Document | None,
    references: Mapping[str, Reference | None],
    past: Mapping[str, Baseline] | None = None,
    *,
    subject: CaseInfo,
    metrics: Sequence[AnyMetric] = (),
    asked: Sequence[Cell | str] = (),
    findings: Sequence[Finding] = (),
    left_out: Sequence[Skip] = (),
    kind: str = "measured",
    acceptance: bool = False,
    exists: Mapping[Cell | str, KnownPath] | None = None,
    quantities: Callable[[Cell | str], Sequence[str]] | None = None,
    must_judge: bool = False,
    host: str = "own",
    later: Sequence[LaterLook] = (),
    earlier: Verdict | None = None,
) -> Verdict:
    """The verdict on one check of one node.

    ``asked`` are the cells (or other subjects) that should have been measured, ``findings`` what the check found out by other means,
    ``left_out`` the cells that were never asked for, ``past`` the node's own healthy runs by metric name.
    ``acceptance``: what cannot be judged is INDETERMINATE. ``must_judge``: a check of which nothing was judged is. ``exists`` says
    of what was asked for that it must exist, and ``quantities`` what each of it was requested (without it any result answers).
    ``host``: ``own``, or ``shared`` with others that the node cannot see.
    ``later``: what was measured again in the same case; ``earlier``: the verdict of the same case before it was run again.
    """
    elsewhere = {m.name: words for m in metrics if (words := judged_elsewhere(subject.check, m)) is not None}
    # On a shared host what one of several flows at once gets is the moment's.
    several = {m.name for m in metrics if not isinstance(m, SubjectMetric) and m.flow is not None and not m.cell.lone}
    past = {name: replace(before, host=host) for name, before in (past or {}).items() if name not in elsewhere}
    past = {name: before for name, before in past.items() if host != "shared" or name not in several}
    node = None if document is None else document.node
    past = common_factor.without(past, metrics, node)
    missing = missing_subjects(document, asked, quantities)
    raw = {} if document is None else document.raw
    found = [
        *findings, *from_kind(document, kind), *from_started(document, subject), *from_document(document),
        *from_skips(document, left_out, exists or {}, kind), *from_missing(document, missing),
    ]  # fmt: skip
    found += [*from_nothing(document, asked, kind), *from_counters(document)]
    found += looks.findings(later, found)

    def judge_one(metric: AnyMetric) -> JudgedMetric:
        name = metric.name
        return _judge_metric(metric, references.get(name), elsewhere.get(name), past.get(name), acceptance, node, raw)

    judged = _doubt_what_is_made_of(metrics, [judge_one(metric) for metric in metrics], node)
    judged = [looks.settled(*each, later, subject.time, judge_one) for each in zip(metrics, judged, strict=True)]
    judged = figure_verdict.with_other_direction(judged)
    judged = steadiness.outliers(metrics, steadiness.apply(metrics, judged, document, host), host)
    seen = [each for each in (document, *(look.document for look in later)) if each is not None]
    judged = disturbances.apply(judged, seen, host)
    found += looks.found_before(earlier, found, judged)
    if acceptance:
        found += from_nothing_accepted(judged, subject.system)
    found += from_siblings_only(judged, references, "" if kind == OF_ANOTHER_TOOL else subject.system)
    if must_judge:
        found += from_nothing_judged(found, judged, elsewhere.values(), subject.system)
    word, reasons = _summed(found, judged)
    files = sorted({r.file for r in references.values() if r is not None and r.file is not None})
    return Verdict(
        check=subject.check, system=subject.system, partition=subject.partition, environ=subject.environ, node=subject.node,
        kind=kind, time=subject.time,
        verdict=word, reasons=reasons, metrics=tuple(judged), findings=tuple(found), missing=tuple(missing),
        failed=() if document is None else document.failed, skipped=() if document is None else document.skipped,
        left_out=tuple(Unmeasured(str(skip.cell), skip.reason, skip.code) for skip in left_out),
        measurement=None if document is None else document_facts.info(raw),
        references=tuple(files), software=document_facts.software(raw), document=without_samples(raw) if raw else {},
    )  # fmt: skip


def of_one_run(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts of one run on one node, each with what the others found; those that nothing changes are the same objects."""
    judged, found = disturbances.of_other_checks([(each.check, each.metrics) for each in verdicts]), []
    for one, metrics in zip(verdicts, judged, strict=True):
        if tuple(metrics) != one.metrics:
            word, reasons = _summed(one.findings, metrics)
            first = one.by_itself or one.verdict
            one = replace(one, verdict=word, by_itself=first, reasons=reasons, metrics=tuple(metrics))
        found.append(one)
    return found


def _summed(findings: Sequence[Finding], judged: Sequence[JudgedMetric]) -> tuple[str, tuple[str, ...]]:
    """The verdict, and the reasons of what is not well, the worst first."""
    bad = [*(f for f in findings if f.verdict not in ("PASS", NOT_JUDGED)), *disturbances.reasons(judged)]
    ranked = sorted(bad, key=lambda finding: ORDER.index(finding.verdict))
    return worst([*(each.verdict for each in findings), *(each.verdict for each in judged)]), tuple(
        finding.reason for finding in ranked
    )


def needs_sanity(verdict: Verdict) -> bool:
    """Whether a failing verdict rests on more than figures outside bounds, so that ReFrame's sanity stage has to say it."""
    beyond_bounds = any(not passes(finding.verdict) for finding in verdict.findings)
    return beyond_bounds or any(metric.verdict == "INDETERMINATE" for metric in verdict.metrics)


def headline(verdict: Verdict) -> str:
    """The verdict and its reasons in one line, as ReFrame's report shows it."""
    more = f"; and {len(verdict.reasons) - 3} more" if len(verdict.reasons) > 3 else ""
    return f"{verdict.verdict}: {'; '.join(verdict.reasons[:3])}{more}"


def _judge_metric(
    metric: AnyMetric,
    reference: Reference | None,
    elsewhere: str | None,
    past: Baseline | None,
    acceptance: bool,
    node: Node | None,
    raw: Mapping[str, Any],
) -> JudgedMetric:
    flow: Flow | None = None
    if isinstance(metric, SubjectMetric):
        subject, asked = metric.subject, metric.question
    else:
        subject, flow = str(metric.cell), metric.flow
        asked = question_of(metric.cell, flow, metric.total)
    moved = subject if flow is None else str(flow)
    gpus, held = document_facts.gpus_of(moved), document_facts.held_down(raw)
    throttled = document_facts.throttled(gpus, held)
    state = metric.state if isinstance(metric, SubjectMetric) else None
    worse = None if past is None else worsening(metric, past)
    finding = figure_verdict.of_figure(metric, reference, past, acceptance, node, elsewhere)
    verdict, reason = finding.verdict, finding.reason or None
    if verdict in ("FAIL", "DEGRADED"):
        reason = f"{reason}{document_facts.held_words(state)}"
        if throttled and state is None:
            named = ", ".join(f"GPU {gpu}" for gpu in sorted(held.intersection(gpus) or held))
            reason += f"; heat or power held down the clocks of {named}"
    return JudgedMetric(
        **shared(BaseMetric, metric), value=metric.value, subject=subject, flow=flow, question=asked, gpus=gpus,
        engine=document_facts.engine_of(metric.quantity, moved), rows=tuple(row_keys(metric)),
        throttled=throttled if state is None else bool(state.held_down),
        disturbance=disturbances.MEMORY_ERRORS if state is not None and state.memory_errors else None,
        # What was measured in company in rounds is like a figure alone: whatever lost there was measured again alone.
        contended=(isinstance(metric, SubjectMetric) and metric.contended) or bool(raw.get("aggressor"))
        or bool(metric.beside and (raw.get("program") or {}).get("quick")),
        reference=None if reference is None else JudgedReference(
            reference.value, reference.lowest, reference.highest, reference.unit, reference.origin, reference.note, reference.stale,
            reference.file, reference.stale_bounds,
        ),
        degraded_below=None if reference is None else reference.degraded_below,
        degraded_above=None if reference is None else reference.degraded_above,
        baseline=None if past is None else PastRuns(
            past.median, len(past.values), past.since, None if worse is None else worse.kind, past.note,
        ),
        verdict=verdict, reason=reason, code=finding.code,
    )  # fmt: skip


def _doubt_what_is_made_of(
    metrics: Sequence[AnyMetric], judged: Sequence[JudgedMetric], node: Node | None
) -> list[JudgedMetric]:
    """Of a figure that is none nothing can be made: a far path is not slow because the near one is a thousandfold."""
    own = [metric for metric in metrics if metric.quantity not in MADE_OF_OTHERS]
    unsound = {part for metric in own if figure_verdict.unsound(metric, node) for part in _parts(metric)}
    found = []
    for metric, entry in zip(metrics, judged):
        if metric.quantity in MADE_OF_OTHERS and not passes(entry.verdict) and unsound & _parts(metric):
            finding = messages.DERIVED_FROM_INVALID.finding(
                metric.name, figure=describe(metric), reading=amount(metric)
            )
            entry = entry.judged_as(finding)
        found.append(entry)
    return found


def _parts(metric: AnyMetric) -> set[object]:
    """What the figures have in common that one is made of: a GPU; of what is no cell, the program."""
    if isinstance(metric, SubjectMetric):
        return {metric.subject.partition("/")[0].partition(".")[0]}
    return set(metric.cell.gpus)
