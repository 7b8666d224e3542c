"""How much of a run was judged: what has no reference is neither good nor bad, and nobody is to take it for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .figures import figures
from .rundir import Check, NodeRun, Run
from .wording import plural, shown_verdict


class Judged(NamedTuple):
    """How many figures were judged, and how many were not for want of a reference; those that only explain others are
    neither."""

    judged: int
    unjudged: int


def of_checks(checks: Iterable[Check]) -> Judged:
    """The figures of some checks together."""
    shown = [figure.shown for check in checks for figure in figures(check, "") if not figure.explains]
    unjudged = shown.count("UNJUDGED")
    return Judged(len(shown) - unjudged, unjudged)


def of_run(run: Run) -> Judged:
    """What was measured in a run; nothing modelled is judged."""
    return of_checks(check for node in run.nodes if not node.modelled for check in node.checks)


def shown_check(check: Check, modelled: bool) -> str:
    """The verdict's word of a check as shown: one that passed without a single figure judged is UNJUDGED, never green."""
    word = shown_verdict(check.word, modelled)
    if word != "PASS":
        return word
    judged, unjudged = of_checks([check])
    return "UNJUDGED" if unjudged and not judged else word


def shown_node(node: NodeRun) -> str:
    """A node's verdict as shown: one that passed though nothing of it was held against anything is UNJUDGED."""
    return _unless_unjudged(shown_verdict(node.word, node.modelled), node.checks)


def shown_run(run: Run) -> str:
    """A run's verdict as shown, by the same rule."""
    return _unless_unjudged(run.shown, [check for node in run.nodes if not node.modelled for check in node.checks])


def _unless_unjudged(shown: str, checks: Sequence[Check]) -> str:
    passed = any(_held_against_something(check) for check in checks)
    return "UNJUDGED" if shown == "PASS" and checks and not passed else shown


def _held_against_something(check: Check) -> bool:
    """Whether a figure was judged; without figures, whether no note says why nothing was compared."""
    judged, unjudged = of_checks([check])
    return judged > 0 or (not unjudged and not (check.verdict or {}).get("findings"))


def line(run: Run) -> str | None:
    """``14 figures judged, 61 not: they have no reference; …``; None where all were judged, or nothing was measured."""
    judged, unjudged = of_run(run)
    if not unjudged:
        return None
    have = "it has" if unjudged == 1 else "they have"
    return f"{plural(judged, 'figure')} judged, {unjudged} not: {have} no reference; {remedy(run)} makes them from healthy runs"


def remedy(run: Run) -> str:
    """The command that gives figures their references."""
    return f"nearfar tune --system {run.raw.get('system')}"
