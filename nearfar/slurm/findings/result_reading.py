"""The check runs of a result that is believed."""

from __future__ import annotations

from functools import partial

from nearfar.base import NOT_JUDGED, plural
from nearfar.slurm.ledger import RUN, CheckRun, FigureEntry, seconds
from nearfar.slurm.results import NodeResult, result

#: Letters of what a run reports that are kept.
_LONGEST = 300


def check_runs(one: NodeResult, came: float) -> list[CheckRun]:
    """What a result says of its node, a run for each check; ``came``: when it came to be where it is. The cases that did not run are
    a check of their own (``RUN``)."""
    of_run = partial(
        CheckRun, node=one.name, run=one.run, started=seconds(one.started), ended=seconds(one.ended), came=came, level=one.level,
        job=one.slurm is not None, system=one.system, sweep=one.sweep or "",
    )  # fmt: skip
    found = []
    undone = _undone(one)
    if undone:
        found.append(of_run(check=RUN, verdict="INDETERMINATE", source=str(one.folder), words=undone))
    for check in one.checks:
        found.append(of_run(
            check=check.check, verdict=check.verdict, failures=result.failures(check), passed=result.within_bounds(check.figures),
            cells=result.cells(check.figures), intermittent=result.intermittent(check.figures), parts=one.blamed, source=str(check.folder),
            words=_words(check),
        ))  # fmt: skip
    return found


def figure_entries(check: result.CheckResult) -> dict[str, FigureEntry]:
    """The judged figures of a check, by name; without those that passed by bounds which were only widened: they prove nothing."""
    passed, intermittent = result.within_bounds(check.figures), result.intermittent(check.figures)
    found = {}
    for figure in check.figures:
        verdict = "INTERMITTENT" if figure.name in intermittent else "PASS" if figure.name in passed else figure.verdict
        if verdict != NOT_JUDGED and (verdict != "PASS" or figure.name in passed):
            reference = figure.reference
            lowest, highest = (None, None) if reference is None else (reference.lowest, reference.highest)
            found[figure.name] = (verdict, figure.value, lowest, highest, figure.unit)
    return found


def _undone(one: NodeResult) -> str:
    """Why not all that was to run did: the first case that is missing, or that the job was ended; empty where all did."""
    if one.missing:
        more = f" (and {plural(len(one.missing) - 1, 'case')} more)" if len(one.missing) > 1 else ""
        return f"{_cut(one.missing[0])}{more}"
    return "its job was ended before the run was through" if one.interrupted else ""


def _words(check: result.CheckResult) -> str:
    """What a check reports of the node where no FAIL counts against that: its worst finding of its verdict."""
    if check.verdict not in ("INDETERMINATE", "DEGRADED", "FAIL") or result.failures(check):
        return ""
    found = next((finding.reason for finding in check.findings if finding.verdict == check.verdict), "")
    together = "paths of the host fell together, no grounds for a drain: " if check.verdict == "FAIL" else ""
    return _cut(together + (found or check.reason or ""))


def _cut(words: str) -> str:
    one = " ".join(words.split())
    return one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…"
