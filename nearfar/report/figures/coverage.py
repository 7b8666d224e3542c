"""How much of a run was judged: what has no reference is neither good nor bad, and nobody is to take it for good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nearfar.base import NOT_JUDGED
from nearfar.question import judged_elsewhere_by_parts
from nearfar.verdict import CheckRecord, RunDirectory, disturbances, thresholds

from .check_figures import figures
from .wording import plural


class JudgedCount(NamedTuple):
    """How many figures were judged, how many were not for want of a reference, and how many have one without a limit, since healthy
    figures differ too much; those that only explain others are none of these."""

    judged: int
    unjudged: int
    unlimited: int


def of_checks(checks: Iterable[CheckRecord]) -> JudgedCount:
    """The figures of some checks together."""
    found = [figure for check in checks for figure in figures(check, "") if not figure.explains]
    # With --acceptance one that has no reference is INDETERMINATE; it was compared with nothing all the same.
    compared_with_nothing = [f for f in found if f.shown in (NOT_JUDGED, "INDETERMINATE") and not f.bounded]
    unlimited = sum(f.unlimited for f in compared_with_nothing)
    return JudgedCount(len(found) - len(compared_with_nothing), len(compared_with_nothing) - unlimited, unlimited)


def unlimited_words(count: int) -> str:
    """``4 figures differ too much among healthy nodes to have a limit``."""
    return f"{plural(count, 'figure differs', 'figures differ')} too much among healthy nodes to have a limit"


def of_run(run: RunDirectory) -> JudgedCount:
    """What was measured in a run; nothing modelled is judged."""
    return of_checks(_measured(run))


def disturbed(run: RunDirectory) -> int:
    """How many measured figures of a run others disturbed: no reference is made of them."""
    metrics = (metric for check in _measured(run) if check.verdict for metric in check.verdict.metrics)
    return sum(metric.disturbance not in (None, disturbances.OWN_HOST) for metric in metrics)


def too_disturbed(run: RunDirectory) -> bool:
    """Whether others disturbed so many figures that ``nearfar tune`` makes no limits from the run, and it has to be run again."""
    judged, unjudged, _ = of_run(run)
    return disturbed(run) > thresholds.MOST_UNRELIABLE * (judged + unjudged)


def nothing(run: RunDirectory) -> str | None:
    """Why nothing of a run was judged, and what to do about it; None where something was, or all is modelled."""
    if run.shown != NOT_JUDGED:
        return None
    _, count, unlimited = of_run(run)
    disturbed_ = "and none can be made from this run, which other load disturbed: run it again"
    makes = f", {disturbed_ if too_disturbed(run) else f'{remedy(run)} makes them'}"
    have = f"{plural(count, 'figure has', 'figures have')} no reference"
    why = [f"{have}{'' if run.raw.get('foreign') else makes}"] if count else []
    why += [unlimited_words(unlimited)] if unlimited else []
    findings = [f for check in _measured(run) if check.verdict for f in check.verdict.findings]
    why += dict.fromkeys(f.reason for f in findings if f.subject == "topology" or f.code == "foreign.kept")
    # Which checks judge the figures that these checks measured.
    every = ((check.name, f) for check in _measured(run) for f in figures(check, "") if f.judged_elsewhere)
    parts = ((name, f.quantity, f.unit, f.derived, f.cell, f.flow is not None) for name, f in every)
    judging = dict.fromkeys(filter(None, (judged_elsewhere_by_parts(*each) for each in parts)))
    return "; ".join(why or judging) or "no check had anything to compare with"


def _measured(run: RunDirectory) -> list[CheckRecord]:
    return [check for node in run.nodes if not node.modelled for check in node.checks]


def line(run: RunDirectory) -> str | None:
    """``14 figures judged, 61 not: they have no reference; …``; None where all that can be was judged, or nothing was measured. A run
    that was too disturbed says so in place of the command that makes references."""
    judged, unjudged, unlimited = of_run(run)
    if not unjudged:
        return f"{plural(judged, 'figure')} judged; {unlimited_words(unlimited)}" if unlimited else None
    have = "it has" if unjudged == 1 else "they have"
    counted = f"{plural(judged, 'figure')} judged, {unjudged} not: {have} no reference"
    if run.raw.get("foreign"):
        return counted
    if too_disturbed(run):
        return f"{counted}; other load disturbed {plural(disturbed(run), 'figure')}: run again on a quiet machine before tuning"
    return f"{counted}; {remedy(run)} makes them from healthy runs"


def remedy(run: RunDirectory) -> str:
    """The command that gives figures their references."""
    return f"nearfar tune --system {run.raw.get('system')}"
