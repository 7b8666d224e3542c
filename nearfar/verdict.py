"""The judge: what was measured × what it should be × the past → verdicts with reasons. Pure; nothing else judges.

ReFrame gets the same bounds, and pages, exit codes and drains read what this wrote.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.cells import Cell, Skip
from nearfar.measurement import MADE_OF_OTHERS, AnyMetric, Document, SubjectMetric, Unmeasured, subject_key
from nearfar.measurement.document import CELL_QUANTITIES
from nearfar.past import Past, worse
from nearfar.references import Reference, figure, row_keys
from nearfar.verdict_words import amount, bound_words, describe, interval

SCHEMA = "nearfar-verdict/1"
#: Worst first.
ORDER = ("FAIL", "INDETERMINATE", "DEGRADED", "PASS")
#: A rate above what its link can carry by more than this part is no rounding: bytes that were not moved, or another link.
IMPOSSIBLE = 0.02
#: Why a cell may be skipped without making anything indeterminate.
EXPECTED_SKIPS = ("representative", "unsupported")
#: Failures that prove nothing about the hardware; all other codes are hard evidence.
SOFT_FAILURES = ("placement", "error")
#: What a finding speaks of that says why nothing was compared with the node's past.
HISTORY = "history"
#: Throttle reasons that speak of heat or power, not of a setting or an idle GPU.
_HARDWARE_THROTTLES = ("hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal")


@dataclass(frozen=True)
class Finding:
    """Something that is no figure: drift, an absent device, wrong data. ``hard``: it stands without a second run."""

    item: str
    verdict: str
    reason: str
    hard: bool = False


@dataclass(frozen=True)
class Subject:
    """Whose verdict it is: the names that stand in ``verdict.json``."""

    check: str
    system: str
    partition: str
    environ: str
    node: str
    time: str


def worst(verdicts: Iterable[str]) -> str:
    """The worst of some verdicts; PASS for none."""
    return min(verdicts, key=ORDER.index, default="PASS")


def passes(verdict: str) -> bool:
    """Whether ReFrame's case passes with this verdict."""
    return verdict in ("PASS", "DEGRADED")


def judge(
    document: Document | None,
    references: Mapping[str, Reference | None],
    past: Mapping[str, Past] | None = None,
    *,
    subject: Subject,
    metrics: Sequence[AnyMetric] = (),
    asked: Sequence[Cell | str] = (),
    findings: Sequence[Finding] = (),
    left_out: Sequence[Skip] = (),
    kind: str = "measured",
    acceptance: bool = False,
) -> dict[str, Any]:
    """The verdict on one check of one node, as ``nearfar-verdict/1``.

    ``asked`` are the cells (or other subjects) that should have been measured, ``findings`` what the check found out by other means,
    ``left_out`` the cells that were never asked for, ``past`` the node's own healthy runs by metric name.
    ``acceptance``: what cannot be judged is INDETERMINATE.
    """
    past = past or {}
    missing = _missing(document, asked)
    skipped = [*(document.skipped if document else ()), *(Unmeasured(str(s.cell), s.reason, s.code) for s in left_out)]
    found = [
        *findings, *_from_kind(document, kind), *_from_document(document), *_from_skips(skipped), *_from_missing(document, missing),
    ]  # fmt: skip
    found += _from_nothing(document, asked, kind)
    judged = [
        _judge_metric(metric, references.get(metric.name), metrics, references, past, acceptance) for metric in metrics
    ]
    ranked = sorted(
        [(f.verdict, f.reason) for f in found] + [(m["verdict"], m["reason"]) for m in judged],
        key=lambda pair: ORDER.index(pair[0]),
    )
    raw = {} if document is None else document.raw
    files = sorted({r.file for r in references.values() if r is not None and r.file is not None})
    return {
        "schema": SCHEMA,
        "check": subject.check,
        "system": subject.system,
        "partition": subject.partition,
        "environ": subject.environ,
        "node": subject.node,
        "kind": kind,
        "time": subject.time,
        "verdict": worst(verdict for verdict, _ in ranked),
        "reasons": [reason for verdict, reason in ranked if verdict != "PASS"],
        "metrics": judged,
        "findings": [{"item": f.item, "verdict": f.verdict, "reason": f.reason, "hard": f.hard} for f in found],
        "missing": missing,
        "skipped": [{"cell": skip.cell, "reason": skip.reason, "code": skip.code} for skip in skipped],
        "provenance": {
            "document": None if document is None else "document.json",
            "references": files,
            "software": raw.get("node", {}).get("software", {}),
        },
    }


def needs_sanity(verdict: Mapping[str, Any]) -> bool:
    """Whether a failing verdict rests on more than figures outside bounds, so that ReFrame's sanity stage has to say
    it."""
    beyond_bounds = any(not passes(f["verdict"]) for f in verdict["findings"])
    return beyond_bounds or any(m["verdict"] == "INDETERMINATE" for m in verdict["metrics"])


def headline(verdict: Mapping[str, Any]) -> str:
    """The verdict and its reasons in one line, as ReFrame's report shows it."""
    reasons = list(verdict["reasons"])
    more = f"; and {len(reasons) - 3} more" if len(reasons) > 3 else ""
    return f"{verdict['verdict']}: {'; '.join(reasons[:3])}{more}"


def _missing(document: Document | None, asked: Sequence[Cell | str]) -> list[str]:
    """The cells that a document says nothing about."""
    accounted: set[object] = set()
    if document is not None:
        accounted |= {result.cell or result.subject for result in document.results}
        accounted |= {subject_key(entry.cell) for entry in (*document.skipped, *document.failed)}
    return [str(subject) for subject in asked if subject_key(str(subject)) not in accounted]


def _from_missing(document: Document | None, missing: Sequence[str]) -> list[Finding]:
    """One finding for what a document leaves out; where there is no document, why not has been said already."""
    if not missing or document is None:
        return []
    shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
    return [Finding("missing", "INDETERMINATE", f"not measured, though asked for: {shown}")]


def _from_nothing(document: Document | None, asked: Sequence[Cell | str], kind: str) -> list[Finding]:
    """A check that measured nothing is never green, however good the reasons of its skips."""
    if document is None or kind != "measured" or not asked or document.results or document.failed:
        return []
    if any(skip.code not in EXPECTED_SKIPS for skip in document.skipped) or not document.skipped:
        return []  # said already
    why = document.skipped[0].reason
    return [Finding("cells", "INDETERMINATE", f"nothing was measured: every cell was skipped; the first: {why}")]


def _from_kind(document: Document | None, kind: str) -> list[Finding]:
    """A prediction says nothing of a real node, whichever program printed it."""
    if document is None or document.kind == kind:
        return []
    return [Finding("document", "INDETERMINATE", f"the document is {document.kind}, where one was to be {kind}")]


def _from_document(document: Document | None) -> list[Finding]:
    if document is None:
        return []
    found = []
    if document.aggressors:
        words = f"measured beside an aggressor ({', '.join(document.aggressors)}): the figures are not the node's own"
        found.append(Finding("aggressor", "INDETERMINATE", words))
    for failure in document.failed:
        soft = failure.code in SOFT_FAILURES
        verdict = "INDETERMINATE" if soft else "FAIL"
        found.append(Finding(failure.cell or "program", verdict, _of_cell(failure.cell, failure.reason), not soft))
    for gpu in document.raw.get("gpus_under_load", []):
        found += _from_load(gpu)
    return found


def _from_skips(skips: Sequence[Unmeasured]) -> list[Finding]:
    """One finding for each reason, however many cells share it."""
    groups: dict[str, list[str]] = {}
    for skip in skips:
        if skip.code not in EXPECTED_SKIPS:
            groups.setdefault(skip.reason, []).append(skip.cell)
    found = []
    for reason, cells in groups.items():
        named = ", ".join(cell or "all that was asked for" for cell in cells[:3]) + (
            f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        )
        found.append(Finding(cells[0] or "program", "INDETERMINATE", f"not measured: {named}: {reason}"))
    return found


def _from_load(gpu: Mapping[str, Any]) -> list[Finding]:
    """What the driver said of a GPU while it moved data: memory errors are evidence, held-down clocks an explanation."""
    found = []
    name = f"GPU {gpu['index']}"
    errors = gpu.get("uncorrected_errors") or 0
    if errors:
        words = f"{name}: {errors} uncorrected memory error{'s' if errors > 1 else ''} since its last reset"
        found.append(Finding(f"g{gpu['index']}.memory", "FAIL", words, hard=True))
    held = [reason for reason in gpu.get("throttle") or [] if reason in _HARDWARE_THROTTLES]
    if held:
        words = f"{name}: its hardware held the clocks down while it was measured ({', '.join(held)})"
        found.append(Finding(f"g{gpu['index']}.clocks", "DEGRADED", words))
    return found


def _of_cell(cell: str, reason: str) -> str:
    return f"{cell}: {reason}" if cell and cell not in reason else reason


def _judge_metric(
    metric: AnyMetric,
    reference: Reference | None,
    metrics: Sequence[AnyMetric],
    references: Mapping[str, Reference | None],
    past: Mapping[str, Past],
    acceptance: bool,
) -> dict[str, Any]:
    verdict, reason = _beside_its_past(metric, reference, past, acceptance)
    before = past.get(metric.name)
    if verdict in ("FAIL", "DEGRADED"):
        reason = f"{reason}{_other_direction(metric, metrics, references, past)}"
    return {
        "name": metric.name,
        "cell": metric.subject if isinstance(metric, SubjectMetric) else str(metric.cell),
        "flow": None if isinstance(metric, SubjectMetric) or metric.flow is None else str(metric.flow),
        "class": metric.path_class,
        "rows": row_keys(metric),
        "quantity": metric.quantity,
        "value": metric.value,
        "unit": metric.unit,
        "ci": None if metric.ci is None else list(metric.ci),
        "ceiling": metric.ceiling,
        "limited_by": list(metric.limited_by),
        "beside": [] if isinstance(metric, SubjectMetric) else list(map(str, metric.beside)),
        "remeasured": not isinstance(metric, SubjectMetric) and metric.remeasured,
        "reference": None if reference is None else {
            "value": reference.value, "lower": reference.lowest, "upper": reference.highest, "unit": reference.unit,
            "origin": reference.origin, "note": reference.note, "stale": reference.stale,
        },
        "degraded_below": None if reference is None else reference.degraded_below,
        "past": None if before is None else {"median": before.median, "n": len(before.values), "since": before.since},
        "verdict": verdict,
        "reason": reason,
    }  # fmt: skip


def _verdict(metric: AnyMetric, reference: Reference | None, acceptance: bool) -> tuple[str, str | None]:
    what = describe(metric)
    if not math.isfinite(metric.value) or (metric.value <= 0 and metric.quantity in CELL_QUANTITIES):
        return "INDETERMINATE", f"{what}: {metric.value:g} is no figure"
    # Wrong data is named by the program among its failures; a figure that was never verified proves nothing either.
    if metric.verified is False:
        return "INDETERMINATE", f"{what}: the data that arrived was not verified"
    if metric.ceiling is not None and metric.value > metric.ceiling * (1 + IMPOSSIBLE):
        carries = f"above what its link can carry, {figure(metric.ceiling, metric.unit)}"
        return "INDETERMINATE", f"{what}: {amount(metric)}, {carries}: not all was moved, or the link is another"
    if reference is None or reference.boundless:
        why = "no reference" if reference is None else f"its {reference.origin} reference has no bound"
        # Figures that are made of others explain; what they are made of is judged.
        made_of_others = metric.quantity in MADE_OF_OTHERS
        word = "INDETERMINATE" if acceptance and not made_of_others else "PASS"
        return word, f"{what}: {amount(metric)}, not judged: {why}"
    settled = metric.converged or metric.ci is None
    for bound, below in ((reference.lowest, True), (reference.highest, False)):
        if bound is None:
            continue
        outside = metric.value < bound if below else metric.value > bound
        ci = metric.ci or (metric.value, metric.value)
        if not settled and ci[0] < bound < ci[1]:
            words = (
                f"did not settle: its interval {interval(ci, metric.unit)} holds the bound {figure(bound, metric.unit)}"
            )
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
    metric: AnyMetric, reference: Reference | None, past: Mapping[str, Past], acceptance: bool
) -> tuple[str, str | None]:
    """The verdict by the reference; what passes it may be worse than it was."""
    verdict, reason = _verdict(metric, reference, acceptance)
    before = past.get(metric.name)
    if verdict != "PASS" or before is None or not worse(metric, before):
        return verdict, reason
    words = f"{amount(metric)}, worse than its own past: {before.words(metric.unit)}"
    return "DEGRADED", f"{describe(metric)}: {words}"


def _other_direction(
    metric: AnyMetric,
    metrics: Sequence[AnyMetric],
    references: Mapping[str, Reference | None],
    past: Mapping[str, Past],
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
            verdict, _ = _beside_its_past(other, references.get(other.name), past, False)
            return "; the other direction is fine" if verdict == "PASS" else "; the other direction too"
    return ""
