"""What a document says besides its figures, as findings: what is missing, skipped, failed, of another day, or held down."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Any

from nearfar.base import NOT_JUDGED, Finding, Message, good, passes, utc_time, worst
from nearfar.cells import Cell, Skip
from nearfar.measurement import (
    EXPECTED_SKIPS,
    HARDWARE_THROTTLES,
    RATIO_UNIT,
    SOFT_FAILURES,
    AnyMetric,
    Document,
    machine_uses,
    subject_key,
)
from nearfar.question import judged_elsewhere
from nearfar.verdict.references import Reference, ReferenceFile, row_keys

from . import messages, thresholds
from .verdict_types import JudgedMetric

#: How long before its verdict a document may have been started, and how far clocks of two hosts may differ.
LONGEST, CLOCKS = timedelta(days=1), timedelta(minutes=5)
#: What a finding speaks of that says that nothing of a check was judged.
UNJUDGED = "judged"
#: Of skips that say more than that a cell was not measured.
_SKIPPED = {"representative": messages.LEFT_OUT}


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
    return [messages.MISSING.finding("missing", cells=named)]


def from_nothing(document: Document | None, asked: Sequence[Cell | str], kind: str) -> list[Finding]:
    """A check that measured nothing is never green, however good the reasons of its skips."""
    if document is None or kind != "measured" or not asked or document.results or document.failed:
        return []
    if any(skip.code not in EXPECTED_SKIPS for skip in document.skipped) or not document.skipped:
        return []  # said already
    return [messages.ALL_SKIPPED.finding("cells", cause=document.skipped[0].reason)]


def from_nothing_judged(
    found: Sequence[Finding], metrics: Sequence[JudgedMetric], elsewhere: Iterable[str], system: str
) -> list[Finding]:
    """Why a check has no answer though nothing is wrong: no figure and no comparison was judged. ``elsewhere``: what judges its figures
    in other checks, as ends of sentences."""
    compared = any(good(m.verdict) for m in metrics) or any(f.verdict == "PASS" for f in found)
    if compared or not passes(worst([f.verdict for f in found] + [m.verdict for m in metrics])):
        return []
    own = [metric for metric in metrics if not metric.judged_elsewhere]
    if metrics and not own:
        return [messages.JUDGED_BY_OTHERS.finding(UNJUDGED, judges=list(dict.fromkeys(elsewhere)))]
    if own and all(m.unlimited for m in own):
        return [messages.NO_LIMITS.finding(UNJUDGED)]
    if own:
        message = messages.NO_RATIOS if all(m.unit == RATIO_UNIT for m in own) else messages.NO_REFERENCES
        return [message.finding(UNJUDGED, figures=len(own), system=system)]
    note = next((f.reason for f in found if f.verdict == NOT_JUDGED), "nothing to compare with")
    return [messages.NOTHING_COMPARED.finding(UNJUDGED, cause=note)]


def from_nothing_accepted(metrics: Sequence[JudgedMetric], system: str) -> list[Finding]:
    """What to do about figures that an acceptance cannot accept, since no reference of the site or of their kind speaks of them."""
    known = ("tuned", "published", "model")
    lacking = [
        m for m in metrics
        if m.verdict == "INDETERMINATE" and m.disturbance is None and not (m.bounded and m.reference and m.reference.origin in known)
    ]  # fmt: skip
    if not lacking:
        return []
    return [messages.NOT_ACCEPTED.finding(UNJUDGED, figures=len(lacking), system=system)]


def from_siblings_only(
    metrics: Sequence[JudgedMetric], references: Mapping[str, Reference | None], system: str
) -> list[Finding]:
    """That nobody knows what figures should be that pass a reference which accepts nothing: alike parts may all be slow."""
    passing = [references.get(metric.name) for metric in metrics if metric.verdict == "PASS"]
    unknown = sum(reference is not None and not reference.accepts for reference in passing)
    return [messages.SIBLINGS_ONLY.finding("references", figures=unknown, system=system)] if unknown else []


def from_kind(document: Document | None, kind: str) -> list[Finding]:
    """A prediction says nothing of a real node, whichever program printed it."""
    if document is None or document.kind == kind:
        return []
    return [messages.OTHER_KIND.finding("document", kind=document.kind, expected=kind)]


def from_document(document: Document | None) -> list[Finding]:
    """What failed, what was not verified, and what the GPUs said under load."""
    if document is None:
        return []
    found = []
    if document.aggressors:
        found.append(messages.AGGRESSOR.finding("aggressor", cells=list(document.aggressors)))
    if document.raw.get("interrupted"):
        found.append(messages.INTERRUPTED.finding("program"))
    for failure in document.failed:
        message, soft = messages.FAILED.get(failure.code, messages.FAILED["other"]), failure.code in SOFT_FAILURES
        found.append(message.finding(
            failure.cell or "program", verdict="INDETERMINATE" if soft else "FAIL", hard=not soft, cell=failure.cell, error=failure.reason,
            cells=[failure.cell] if failure.cell else [],
        ))  # fmt: skip
    for note in document.raw.get("notes", []):
        message = messages.SUSPENDED if note["code"] == "suspended" else messages.HUNG_ONCE
        found.append(message.finding(note["cell"] or "program", error=note["reason"]))
    for gpu in document.raw.get("gpus_under_load", []):
        # Memory errors are evidence, clocks that were held down an explanation.
        index = gpu["index"]
        if errors := gpu.get("uncorrected_errors"):
            found.append(messages.UNCORRECTED.finding(f"g{index}.memory", gpu=index, errors=errors))
        if held := [reason for reason in gpu.get("throttle") or [] if reason in HARDWARE_THROTTLES]:
            found.append(messages.THROTTLED.finding(f"g{index}.clocks", gpu=index, causes=held))
    return found + _slow_cpus(document.raw)


def from_started(document: Document | None, subject: CaseInfo) -> list[Finding]:
    """A document that was not measured for this verdict is no word on the node."""
    if document is None or document.kind != "measured" or "started" not in document.raw:
        return []
    text = str(document.raw["started"])
    try:
        started, judged = utc_time(text), utc_time(subject.time)
    except ValueError:
        return [messages.NO_TIME.finding("started", started=text)]
    if judged - LONGEST <= started <= judged + CLOCKS:
        return []
    return [messages.OTHER_TIME.finding("started", started=text, judged=subject.time)]


def from_skips(
    document: Document | None, left_out: Sequence[Skip], exists: Mapping[Cell | str, KnownPath], kind: str
) -> list[Finding]:
    """One finding for each reason, however many cells share it."""
    groups: dict[tuple[Message, str, str], list[str]] = {}
    by_key = {subject_key(str(subject)): known for subject, known in exists.items()}
    for skip in () if document is None else document.skipped:
        # Of a skip of all that was asked for, who says that the first exists.
        known = by_key.get(subject_key(skip.cell)) if skip.cell else next(iter(by_key.values()), None)
        unsupported = skip.code == "unsupported"
        if (unsupported and known is None) or (kind != "measured" and skip.code in EXPECTED_SKIPS):
            continue
        who = known.who if unsupported and known is not None else ""
        denied = unsupported and known is not None and known.link
        message = messages.LINK_MISSING if denied else _SKIPPED.get(skip.code, messages.SKIPPED)
        groups.setdefault((message, skip.reason, who), []).append(skip.cell)
    for each in left_out:
        if each.code != "representative":
            groups.setdefault((messages.SKIPPED, each.reason, ""), []).append(str(each.cell))
    return [
        message.finding(
            cells[0] or "program", cells=[cell or "all that was asked for" for cell in cells], cause=cause, who=who
        )
        for (message, cause, who), cells in groups.items()
    ]


def from_counters(document: Document | None) -> list[Finding]:
    """One for each counter that grew. FAIL above DCGM's limits, and for any NVLink recovery; DEGRADED below them.

    CRC data errors and ECC data errors of NVLink grow on healthy links: they are no finding. Of a counter that went back nobody
    knows what it counted meanwhile: that is said, and judged neither way.
    """
    if document is None or document.kind != "measured":
        return []
    indices = {gpu.pci: gpu.index for gpu in document.node.gpus}
    grown: Counter[tuple[str, str]] = Counter()
    seconds: dict[tuple[str, str], float] = {}
    back = set()
    for counter in (counter for use in machine_uses(document.raw) for counter in use.counters):
        key = counter.pci, counter.name
        grown[key] += counter.grown
        seconds[key] = seconds.get(key, 0.0) + (counter.seconds or 0.0)
        if counter.went_back:
            back.add(key)
    for load in document.raw.get("gpus_under_load") or []:
        # What the driver said of a load counts where the counters of the whole run are not there.
        gpu = document.node.gpu(load["index"])
        if gpu is not None and load.get("replays"):
            grown.setdefault((gpu.pci, "pcie_replays"), load["replays"])
    found = []
    for (pci, name), count in grown.items():
        if name not in messages.COUNTED:
            continue
        part = "link" if name.startswith("pcie") else "nvlink"
        subject, whose = f"{pci}.{part}", f"the GPU at {pci}"
        if pci in indices:
            subject, whose = f"g{indices[pci]}.{part}", f"GPU {indices[pci]}"
        time = seconds.get((pci, name), 0.0)
        broken = {
            "pcie_replays": count > thresholds.MOST_REPLAYS,
            "nvlink_recoveries": True,
            "nvlink_crc_flit_errors": time > 0 and count / time > thresholds.MOST_FLIT_ERRORS,
        }.get(name, False)
        if count:
            verdict = "FAIL" if broken else "DEGRADED"
            found.append(messages.COUNTED[name].finding(subject, verdict=verdict, hard=broken, gpu=whose, errors=count))
        elif (pci, name) in back:
            found.append(messages.COUNTER_RESET.finding(subject, gpu=whose, counter=name))
    return found


def _slow_cpus(raw: Mapping[str, Any]) -> list[Finding]:
    """CPUs that take longer to drive a copy or a launch than the others that were tried: of each its best visit counts."""
    best: dict[tuple[str, str], dict[str, float]] = {}
    for result in raw["results"]:
        for flow in result["flows"]:
            for tried in flow.get("tried") or []:
                times = best.setdefault((result["quantity"], result["cell"]), {})
                times[tried["cpus"]] = min(times.get(tried["cpus"], math.inf), tried["median"])
    slow: dict[str, Finding] = {}
    for (quantity, cell), times in best.items():
        usual = median(times.values()) if len(times) > thresholds.SLOW_CPU_OF else math.inf
        for cpu, time in times.items():
            if time > thresholds.SLOW_CPU * usual and cpu not in slow:
                where: dict[str, Any] = {"cpu": cpu, "quantity": quantity, "cell": cell}
                slow[cpu] = messages.SLOW_CPU.finding(f"cpu{cpu}", **where, time=time, usual=usual)
    return list(slow.values())


def from_unused_references(
    files: Sequence[ReferenceFile], check: str, figures: Sequence[AnyMetric], references: Mapping[str, Reference | None],
    models: Sequence[str],
) -> list[Finding]:  # fmt: skip
    """One for each tuned file that has entries for ``check`` of which not one fits a figure: the site believes that they judge.

    ``references`` are those of the ``figures`` by name, ``models`` the node's GPUs. Entries of what another figure judges, from an older
    file, are ignored.
    """
    used = {reference.file for figure in figures if (reference := references[figure.name]) is not None}
    ignored = {row for figure in figures if judged_elsewhere(check, figure) for row in row_keys(figure)}
    found = []
    for file in files:
        tables = file.tables.get(check, {})
        names = tables.get(None, tables)
        known = {row for table in tables.values() for row in table}
        if file.origin != "tuned" or known <= ignored or not figures or str(file.file.path) in used:
            continue
        where: dict[str, Any] = {"file": str(file.file.path), "line": file.file.line(check), "check": check}
        found.append(
            messages.REFERENCES_UNUSED.finding("references", **where, rows=list(map(str, names)), models=list(models))
        )
    return found
