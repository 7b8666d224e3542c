"""How much of a run was judged: what has no reference is neither good nor bad, and nobody is to take it for good."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nearfar.base import NOT_JUDGED, worst
from nearfar.verdict import CheckRecord, RunDirectory

from .check_figures import figures
from .wording import plural


class JudgedCount(NamedTuple):
    """How many figures were judged, and how many were not for want of a reference; those that only explain others are
    neither."""

    judged: int
    unjudged: int


def of_checks(checks: Iterable[CheckRecord]) -> JudgedCount:
    """The figures of some checks together."""
    found = [figure for check in checks for figure in figures(check, "") if not figure.explains]
    # With --acceptance one that has no reference is INDETERMINATE; it was compared with nothing all the same.
    unjudged = sum(figure.shown in (NOT_JUDGED, "INDETERMINATE") and not figure.bounded for figure in found)
    return JudgedCount(len(found) - unjudged, unjudged)


def of_run(run: RunDirectory) -> JudgedCount:
    """What was measured in a run; nothing modelled is judged."""
    return of_checks(_measured(run))


def shown_run(run: RunDirectory) -> str:
    """A run's verdict as shown: earlier versions called PASS what was compared with nothing."""
    return NOT_JUDGED if run.shown == "PASS" and _all_unjudged(run) else run.shown


def nothing(run: RunDirectory) -> str | None:
    """Why nothing of a run was judged, and what to do about it; None where something was, or all is modelled."""
    if shown_run(run) != NOT_JUDGED:
        return None
    count = of_run(run).unjudged
    have = "figure has" if count == 1 else "figures have"
    why = [f"{count} {have} no reference, {remedy(run)} makes them"] if count else []
    findings = [f for check in _measured(run) if check.verdict for f in check.verdict.findings]
    why += dict.fromkeys(f.reason for f in findings if f.item == "topology")
    return "; ".join(why) or "no check had anything to compare with"


def _measured(run: RunDirectory) -> list[CheckRecord]:
    return [check for node in run.nodes if not node.modelled for check in node.checks]


def _all_unjudged(run: RunDirectory) -> bool:
    checks = _measured(run)
    return bool(checks) and worst(check.word for check in checks) == NOT_JUDGED


def line(run: RunDirectory) -> str | None:
    """``14 figures judged, 61 not: they have no reference; …``; None where all were judged, or nothing was measured."""
    judged, unjudged = of_run(run)
    if not unjudged:
        return None
    have = "it has" if unjudged == 1 else "they have"
    return f"{plural(judged, 'figure')} judged, {unjudged} not: {have} no reference; {remedy(run)} makes them from healthy runs"


def remedy(run: RunDirectory) -> str:
    """The command that gives figures their references."""
    return f"nearfar tune --system {run.raw.get('system')}"
