"""What a document says besides its figures, as findings: what is missing, skipped, failed, of another day, or held down."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from nearfar.base import NOT_JUDGED, Finding, good, passes, utc_time, worst
from nearfar.cells import Cell, Skip
from nearfar.measurement import (
    EXPECTED_SKIPS,
    HARDWARE_THROTTLES,
    RATIO_UNIT,
    SOFT_FAILURES,
    Document,
    Unmeasured,
    subject_key,
)

from .verdict_types import JudgedMetric

#: How long before its verdict a document may have been started, and how far clocks of two hosts may differ.
LONGEST, CLOCKS = timedelta(days=1), timedelta(minutes=5)
#: What a finding speaks of that says that nothing of a check was judged.
UNJUDGED = "judged"
#: A CPU is slow above so many times the median of those tried; of so many or fewer none is the odd one.
_SLOW_CPU, _LEAST_CPUS = 1.25, 2


@dataclass(frozen=True)
class KnownPath:
    """Who says that what was asked for exists, as the end of a sentence about it. ``link``: it is a link that the site's own
    file names, so that the device's answer that there is none is evidence."""

    who: str
    link: bool = False


@dataclass(frozen=True)
class CaseInfo:
    """Whose verdict it is: the names that stand in ``verdict.json``."""

    check: str
    system: str
    partition: str
    environ: str
    node: str
    time: str


def missing_subjects(
    document: Document | None, asked: Sequence[Cell | str], quantities: Callable[[Cell | str], Sequence[str]] | None
) -> dict[str, str]:
    """What was asked for and a document says nothing about; behind each the quantities that it lacks, where it has others."""
    results: dict[object, set[str]] = {}
    accounted: set[object] = set()
    if document is not None:
        for result in document.results:
            results.setdefault(result.cell or result.subject, set()).add(result.quantity)
        accounted |= {subject_key(entry.cell) for entry in (*document.skipped, *document.failed)}
    missing: dict[str, str] = {}
    if document is not None and any(not skip.cell for skip in document.skipped):
        return missing  # a program that measured nothing says why once
    for subject in asked:
        key = subject_key(str(subject))
        if key in accounted:
            continue
        has = results.get(key, set())
        lacks = [] if quantities is None else [each for each in quantities(subject) if each not in has]
        if lacks or not has:
            missing[str(subject)] = f" ({', '.join(lacks)})" if has else ""
    return missing


def from_missing(document: Document | None, missing: Mapping[str, str]) -> list[Finding]:
    """One finding for what a document leaves out; where there is no document, why not has been said already."""
    if not missing or document is None:
        return []
    named = [f"{subject}{quantities}" for subject, quantities in missing.items()]
    shown = ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
    return [Finding("missing", "INDETERMINATE", f"requested but not measured: {shown}")]


def from_nothing(document: Document | None, asked: Sequence[Cell | str], kind: str) -> list[Finding]:
    """A check that measured nothing is never green, however good the reasons of its skips."""
    if document is None or kind != "measured" or not asked or document.results or document.failed:
        return []
    if any(skip.code not in EXPECTED_SKIPS for skip in document.skipped) or not document.skipped:
        return []  # said already
    why = document.skipped[0].reason
    return [Finding("cells", "INDETERMINATE", f"nothing was measured: every cell was skipped; the first: {why}")]


def from_nothing_judged(found: Sequence[Finding], metrics: Sequence[JudgedMetric], system: str) -> list[Finding]:
    """Why a check has no answer though nothing is wrong: no figure and no comparison was judged."""
    compared = any(good(m.verdict) for m in metrics) or any(f.verdict == "PASS" for f in found)
    if compared or not passes(worst([f.verdict for f in found] + [m.verdict for m in metrics])):
        return []
    notes = [f.reason for f in found if f.verdict == NOT_JUDGED]
    why = notes[0] if notes else "there was nothing to compare with"
    noisy = [m for m in metrics if m.reference is not None and m.reference.described]
    if metrics and len(noisy) == len(metrics):
        why = "healthy figures of all of them differ too much for a limit"
    elif metrics:
        tuned = any(m.unit != RATIO_UNIT for m in metrics)
        what = (
            f"nearfar tune --system {system} makes them from healthy runs"
            if tuned
            else "rows for ratios are written by hand"
        )
        why = f"{len(metrics)} {'figure has' if len(metrics) == 1 else 'figures have'} no reference; {what}"
    return [Finding(UNJUDGED, "INDETERMINATE", f"none of its figures was judged: {why}")]


def from_nothing_accepted(metrics: Sequence[JudgedMetric], system: str) -> list[Finding]:
    """What to do about figures that an acceptance cannot accept, since no reference of the site or of their kind speaks of them."""
    known = ("tuned", "published", "model")
    lacking = [
        m for m in metrics
        if m.verdict == "INDETERMINATE" and m.disturbance is None and not (m.bounded and m.reference and m.reference.origin in known)
    ]  # fmt: skip
    if not lacking:
        return []
    one = len(lacking) == 1
    who = f"{len(lacking)} {'figure has' if one else 'figures have'} no reference that can accept {'it' if one else 'them'}"
    remedy = f"nearfar tune --system {system} makes them from healthy runs"
    return [Finding(UNJUDGED, "INDETERMINATE", f"{who}: {remedy}")]


def from_kind(document: Document | None, kind: str) -> list[Finding]:
    """A prediction says nothing of a real node, whichever program printed it."""
    if document is None or document.kind == kind:
        return []
    return [Finding("document", "INDETERMINATE", f"the document is {document.kind}, where one was to be {kind}")]


def from_document(document: Document | None) -> list[Finding]:
    """What failed, what was not verified, and what the GPUs said under load."""
    if document is None:
        return []
    found = []
    if document.aggressors:
        words = f"measured beside an aggressor ({', '.join(document.aggressors)}): the figures are not the node's own"
        found.append(Finding("aggressor", "INDETERMINATE", words))
    if document.raw.get("interrupted"):
        words = "the run was interrupted: measured cells have fewer visits than planned"
        found.append(Finding("program", "INDETERMINATE", words))
    for failure in document.failed:
        soft = failure.code in SOFT_FAILURES
        verdict = "INDETERMINATE" if soft else "FAIL"
        found.append(Finding(failure.cell or "program", verdict, _of_cell(failure.cell, failure.reason), not soft))
    for gpu in document.raw.get("gpus_under_load", []):
        found += _from_load(gpu)
    return found + _slow_cpus(document.raw)


def from_started(document: Document | None, subject: CaseInfo) -> list[Finding]:
    """A document that was not measured for this verdict is no word on the node."""
    if document is None or document.kind != "measured" or "started" not in document.raw:
        return []
    text = str(document.raw["started"])
    try:
        started, judged = utc_time(text), utc_time(subject.time)
    except ValueError:
        return [Finding("started", "INDETERMINATE", f"the document was started at '{text}', which is not a time")]
    if judged - LONGEST <= started <= judged + CLOCKS:
        return []
    words = f"the document was started at {text}, and it is judged at {subject.time}"
    return [Finding("started", "INDETERMINATE", f"{words}: it is from another run, or the node's clock is wrong")]


def from_skips(
    document: Document | None, left_out: Sequence[Skip], exists: Mapping[Cell | str, KnownPath], kind: str
) -> list[Finding]:
    """One finding for each reason, however many cells share it."""
    groups: dict[tuple[str, bool, str], list[str]] = {}
    for skip in () if document is None else document.skipped:
        known = _known(skip, exists)
        unsupported = skip.code == "unsupported"
        if (unsupported and known is None) or (kind != "measured" and skip.code in EXPECTED_SKIPS):
            continue
        hard = unsupported and known is not None and known.link
        who = f" ({known.who})" if unsupported and known is not None else ""
        groups.setdefault((f"{skip.reason}{who}", hard, skip.code), []).append(skip.cell)
    for each in left_out:
        if each.code != "representative":
            groups.setdefault((each.reason, False, each.code), []).append(str(each.cell))
    found = []
    for (reason, hard, code), cells in groups.items():
        named = ", ".join(cell or "all that was asked for" for cell in cells[:3]) + (
            f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        )
        what = "not there" if hard else "requested, and not measured" if code == "representative" else "not measured"
        words = f"{what}: {named}: {reason}"
        found.append(Finding(cells[0] or "program", "FAIL" if hard else "INDETERMINATE", words, hard))
    return found


def _known(skip: Unmeasured, exists: Mapping[Cell | str, KnownPath]) -> KnownPath | None:
    """Who says that a skipped cell exists; of a skip of all that was asked for, the first."""
    by_key = {subject_key(str(subject)): known for subject, known in exists.items()}
    return by_key.get(subject_key(skip.cell)) if skip.cell else next(iter(by_key.values()), None)


def _from_load(gpu: Mapping[str, Any]) -> list[Finding]:
    """What the driver said of a GPU while it moved data: memory errors are evidence, held-down clocks an explanation."""
    found = []
    name = f"GPU {gpu['index']}"
    errors = gpu.get("uncorrected_errors") or 0
    if errors:
        words = f"{name}: {errors} uncorrected memory error{'s' if errors > 1 else ''} since its last reset"
        found.append(Finding(f"g{gpu['index']}.memory", "FAIL", words, hard=True))
    held = [reason for reason in gpu.get("throttle") or [] if reason in HARDWARE_THROTTLES]
    if held:
        words = f"{name}: its hardware reduced the clocks while it was measured ({', '.join(held)})"
        found.append(Finding(f"g{gpu['index']}.clocks", "DEGRADED", words))
    return found


def _slow_cpus(raw: Mapping[str, Any]) -> list[Finding]:
    """CPUs that take longer to drive a copy or a launch than the others that were tried: of each its best visit counts."""
    best: dict[tuple[str, str], dict[str, float]] = {}
    for result in raw["results"]:
        for flow in result["flows"]:
            for tried in flow.get("tried") or []:
                times = best.setdefault((result["quantity"], result["cell"]), {})
                times[tried["cpus"]] = min(times.get(tried["cpus"], math.inf), tried["median"])
    slow: dict[str, str] = {}
    for (quantity, cell), times in best.items():
        usual = median(times.values()) if len(times) > _LEAST_CPUS else math.inf
        for cpu, time in times.items():
            if time > _SLOW_CPU * usual:
                slow.setdefault(cpu, f"{quantity} of {cell}: {time:.3g} us, {usual:.3g} us with the others")
    return [
        Finding(f"cpu{cpu}", NOT_JUDGED, f"CPU {cpu} is slow at driving a GPU: {words}") for cpu, words in slow.items()
    ]


def _of_cell(cell: str, reason: str) -> str:
    return f"{cell}: {reason}" if cell and cell not in reason else reason
