"""The judge: what was measured × what it should be × the past → verdicts with reasons. Pure; nothing else judges.

ReFrame gets the same bounds, and pages, exit codes and drains read what this wrote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import NOT_JUDGED, ORDER, Finding, passes, worst
from nearfar.cells import Cell, Flow, Skip
from nearfar.measurement import (
    CELL_QUANTITIES,
    MADE_OF_OTHERS,
    RATIO_UNIT,
    AnyMetric,
    Document,
    SubjectMetric,
    Unmeasured,
    consistency,
)
from nearfar.topology import LOCAL_CLASS, Node
from nearfar.verdict.references import Reference, figure, question_of, row_keys

from . import document_facts, plausibility
from .baseline import Baseline, worse
from .document_findings import (
    CaseInfo,
    KnownPath,
    from_document,
    from_kind,
    from_missing,
    from_nothing,
    from_nothing_judged,
    from_skips,
    from_started,
    missing_subjects,
)
from .plausibility import ABOVE_LINK
from .verdict_types import JudgedMetric, JudgedReference, PastRuns, Verdict
from .words import amount, bound_words, describe, interval

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
) -> Verdict:
    """The verdict on one check of one node.

    ``asked`` are the cells (or other subjects) that should have been measured, ``findings`` what the check found out by other means,
    ``left_out`` the cells that were never asked for, ``past`` the node's own healthy runs by metric name.
    ``acceptance``: what cannot be judged is INDETERMINATE. ``must_judge``: a check of which nothing was judged is. ``exists`` says
    of what was asked for that it must exist, and ``quantities`` what each of it was asked for (without it any result answers).
    """
    past = past or {}
    missing = missing_subjects(document, asked, quantities)
    raw = {} if document is None else document.raw
    found = [
        *findings, *from_kind(document, kind), *from_started(document, subject), *from_document(document),
        *from_skips(document, left_out, exists or {}, kind), *from_missing(document, missing),
    ]  # fmt: skip
    found += from_nothing(document, asked, kind)
    node = None if document is None else document.node
    judged = [
        _judge_metric(metric, references.get(metric.name), metrics, references, past, acceptance, node, raw)
        for metric in metrics
    ]
    judged = _doubt_what_is_made_of(metrics, judged, node)
    if must_judge:
        found += from_nothing_judged(found, judged, subject.system)
    ranked = sorted(
        [(f.verdict, f.reason) for f in found] + [(m.verdict, m.reason or "") for m in judged],
        key=lambda pair: ORDER.index(pair[0]),
    )
    files = sorted({r.file for r in references.values() if r is not None and r.file is not None})
    return Verdict(
        check=subject.check, system=subject.system, partition=subject.partition, environ=subject.environ, node=subject.node,
        kind=kind, time=subject.time,
        verdict=worst(verdict for verdict, _ in ranked),
        reasons=tuple(reason for verdict, reason in ranked if verdict not in ("PASS", NOT_JUDGED)),
        metrics=tuple(judged), findings=tuple(found), missing=tuple(missing),
        failed=() if document is None else document.failed, skipped=() if document is None else document.skipped,
        left_out=tuple(Unmeasured(str(skip.cell), skip.reason, skip.code) for skip in left_out),
        measurement=None if document is None else document_facts.info(raw),
        references=tuple(files), software=document_facts.software(raw),
    )  # fmt: skip


def needs_sanity(verdict: Verdict) -> bool:
    """Whether a failing verdict rests on more than figures outside bounds, so that ReFrame's sanity stage has to say
    it."""
    beyond_bounds = any(not passes(finding.verdict) for finding in verdict.findings)
    return beyond_bounds or any(metric.verdict == "INDETERMINATE" for metric in verdict.metrics)


def headline(verdict: Verdict) -> str:
    """The verdict and its reasons in one line, as ReFrame's report shows it."""
    more = f"; and {len(verdict.reasons) - 3} more" if len(verdict.reasons) > 3 else ""
    return f"{verdict.verdict}: {'; '.join(verdict.reasons[:3])}{more}"


def _judge_metric(
    metric: AnyMetric,
    reference: Reference | None,
    metrics: Sequence[AnyMetric],
    references: Mapping[str, Reference | None],
    past: Mapping[str, Baseline],
    acceptance: bool,
    node: Node | None,
    raw: Mapping[str, Any],
) -> JudgedMetric:
    verdict, reason = _beside_its_past(metric, reference, past, acceptance, node)
    before = past.get(metric.name)
    if verdict in ("FAIL", "DEGRADED"):
        reason = f"{reason}{_other_direction(metric, metrics, references, past, node)}"
    flow: Flow | None = None
    beside: tuple[Flow, ...] = ()
    if isinstance(metric, SubjectMetric):
        subject, asked = metric.subject, metric.question
    else:
        subject, flow, beside = str(metric.cell), metric.flow, metric.beside
        asked = question_of(metric.cell, flow, metric.total)
    moved = subject if flow is None else str(flow)
    gpus = document_facts.gpus_of(moved)
    return JudgedMetric(
        name=metric.name, quantity=metric.quantity, subject=subject, flow=flow, bytes=metric.bytes, path_class=metric.path_class,
        question=asked, derived=metric.derived or None, gpus=gpus, engine=document_facts.engine_of(metric.quantity, moved),
        value=metric.value, unit=metric.unit, interval=metric.ci, n=metric.n, least=metric.least, most=metric.most,
        samples=() if isinstance(metric, SubjectMetric) else metric.samples, converged=metric.converged, verified=metric.verified,
        limited_by=metric.limited_by, ceiling=metric.ceiling, rows=tuple(row_keys(metric)), beside=beside,
        remeasured=not isinstance(metric, SubjectMetric) and metric.remeasured,
        throttled=document_facts.throttled(gpus, document_facts.held_down(raw)),
        contended=bool(raw.get("aggressor") or beside) or (isinstance(metric, SubjectMetric) and metric.contended),
        reference=None if reference is None else JudgedReference(
            reference.value, reference.lowest, reference.highest, reference.unit, reference.origin, reference.note, reference.stale,
            reference.file,
        ),
        degraded_below=None if reference is None else reference.degraded_below,
        baseline=None if before is None else PastRuns(before.median, len(before.values), before.since),
        verdict=verdict, reason=reason,
        plateau=metric.plateau, median=metric.median, steadiness=metric.steadiness,
    )  # fmt: skip


def _unsound(metric: AnyMetric, node: Node | None) -> str | None:
    """Why a figure is none, whatever it should be; None where it is one."""
    if not math.isfinite(metric.value) or (metric.value <= 0 and metric.quantity in CELL_QUANTITIES):
        return f"{metric.value:g} is no figure"
    # Wrong data is named by the program among its failures; a figure that was never verified proves nothing either.
    if metric.verified is False:
        return "the data that arrived was not verified"
    wrong = consistency.fault(metric)
    if wrong is not None:
        return f"{amount(metric)}: {wrong}"
    if metric.ceiling is not None and metric.value > metric.ceiling * (1 + ABOVE_LINK):
        what = "memory" if metric.path_class == LOCAL_CLASS else "link"
        carries = f"above what its {what} can carry, {figure(metric.ceiling, metric.unit)}"
        return f"{amount(metric)}, {carries}: not all was moved, or the {what} is another"
    impossible = plausibility.fault(metric, node)
    return None if impossible is None else f"{amount(metric)}, {impossible}"


def _doubt_what_is_made_of(
    metrics: Sequence[AnyMetric], judged: Sequence[JudgedMetric], node: Node | None
) -> list[JudgedMetric]:
    """Of a figure that is none nothing can be made: a far path is not slow because the near one is a thousandfold."""
    own = [metric for metric in metrics if metric.quantity not in MADE_OF_OTHERS]
    unsound = {part for metric in own if _unsound(metric, node) for part in _parts(metric)}
    found = []
    for metric, entry in zip(metrics, judged):
        if metric.quantity in MADE_OF_OTHERS and not passes(entry.verdict) and unsound & _parts(metric):
            reason = f"{describe(metric)}: {amount(metric)}, made of a figure that is none"
            entry = replace(entry, verdict="INDETERMINATE", reason=reason)
        found.append(entry)
    return found


def _parts(metric: AnyMetric) -> set[object]:
    """What the figures have in common that one is made of: a GPU; of what is no cell, the program."""
    if isinstance(metric, SubjectMetric):
        return {metric.subject.partition("/")[0].partition(".")[0]}
    return {gpu for flow in metric.cell.flows for gpu in flow.gpus}


def _verdict(
    metric: AnyMetric, reference: Reference | None, acceptance: bool, node: Node | None
) -> tuple[str, str | None]:
    what = describe(metric)
    unsound = _unsound(metric, node)
    if unsound is not None:
        return "INDETERMINATE", f"{what}: {unsound}"
    if reference is None or reference.boundless:
        why = "no reference" if reference is None else f"its {reference.origin} reference has no bound"
        # Figures that are made of others, and parts of 1, explain; what they are made of is judged.
        explains = metric.quantity in MADE_OF_OTHERS or metric.unit == RATIO_UNIT
        word = "INDETERMINATE" if acceptance and not explains else NOT_JUDGED
        return word, f"{what}: {amount(metric)}, not judged: {why}"
    span = None if metric.converged else consistency.span(metric)
    for bound, below in ((reference.lowest, True), (reference.highest, False)):
        if bound is None:
            continue
        outside = metric.value < bound if below else metric.value > bound
        if span is not None and span[0] < bound < span[1]:
            held = "interval" if metric.ci else "samples"
            holds = "holds" if metric.ci else "hold"
            between = interval(span, metric.unit)
            words = f"did not settle: its {held} {between} {holds} the bound {figure(bound, metric.unit)}"
            return "INDETERMINATE", f"{what}: {amount(metric)} {words}"
        if outside:
            expected = bound_words(reference, below)
            if below and reference.degraded_words:
                expected = f"{reference.degraded_words}; below {figure(bound, reference.unit)} it is broken"
            return "FAIL", f"{what}: {amount(metric)}, expected {expected}"
    if reference.degraded_below is not None and metric.value < reference.degraded_below:
        return (
            "DEGRADED",
            f"{what}: {amount(metric)}, expected {reference.degraded_words or bound_words(reference, True)}",
        )
    if reference.origin == "siblings" and acceptance:
        return "INDETERMINATE", f"{what}: {amount(metric)}, like its siblings, which alone accept nothing"
    return "PASS", None


def _beside_its_past(
    metric: AnyMetric, reference: Reference | None, past: Mapping[str, Baseline], acceptance: bool, node: Node | None
) -> tuple[str, str | None]:
    """The verdict by the reference; what passes it may be worse than it was."""
    verdict, reason = _verdict(metric, reference, acceptance, node)
    before = past.get(metric.name)
    if verdict not in ("PASS", NOT_JUDGED) or before is None or not worse(metric, before):
        return verdict, reason
    words = f"{amount(metric)}, worse than its own past: {before.words(metric.unit)}"
    return "DEGRADED", f"{describe(metric)}: {words}"


def _other_direction(
    metric: AnyMetric,
    metrics: Sequence[AnyMetric],
    references: Mapping[str, Reference | None],
    past: Mapping[str, Baseline],
    node: Node | None,
) -> str:
    """What the opposite direction of a host path says: a direction alone points at another part than both."""
    if isinstance(metric, SubjectMetric) or metric.quantity == "ratio" or metric.total:
        return ""
    flow = metric.flow or metric.cell.flows[0]
    if flow.kind != "host":
        return ""
    for other in metrics:
        if isinstance(other, SubjectMetric):
            continue
        beside = other.flow or other.cell.flows[0]
        same_path = (beside.numa_node, beside.gpus, beside.options) == (flow.numa_node, flow.gpus, flow.options)
        same_load = other.cell == metric.cell or (other.cell.lone and metric.cell.lone)
        if (
            same_path
            and same_load
            and not other.total
            and other.quantity == metric.quantity
            and beside.direction != flow.direction
        ):
            verdict, _ = _beside_its_past(other, references.get(other.name), past, False, node)
            if verdict == NOT_JUDGED:
                return ""
            return "; the other direction is fine" if verdict == "PASS" else "; the other direction too"
    return ""
