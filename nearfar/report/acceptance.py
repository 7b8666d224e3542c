"""What an acceptance says of what is DEGRADED: refused, or accepted because it was told to."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import Finding, listed
from nearfar.verdict import RunDirectory

from .messages import DEGRADED_ACCEPTED, DEGRADED_REFUSED

#: So many are named.
_NAMED = 8


def degraded(run: RunDirectory) -> list[dict[str, str]]:
    """What is DEGRADED of a run that was measured: ``check``, ``subject`` and ``code`` of each figure and finding."""
    verdicts = [(c.name, c.verdict) for node in run.nodes if not node.modelled for c in node.checks if c.verdict]
    return [
        {"check": check, "subject": each.subject, "code": each.code}
        for check, verdict in verdicts
        for each in (*verdict.findings, *(metric.finding for metric in verdict.metrics))
        if each.verdict == "DEGRADED"
    ]


def of_run(run: RunDirectory) -> Finding | None:
    """That an acceptance refuses or accepts a DEGRADED run; None of any other."""
    acceptance = run.raw.get("acceptance")
    if acceptance is None or run.shown != "DEGRADED":
        return None
    return note([f"{each['subject']} ({each['code']})" for each in degraded(run)], acceptance["accept_degraded"])


def note(names: Sequence[str], accepted: bool) -> Finding:
    """That an acceptance refuses, or accepts, what has these names."""
    message = DEGRADED_ACCEPTED if accepted else DEGRADED_REFUSED
    return message.finding("acceptance", degraded=listed(names, _NAMED))
