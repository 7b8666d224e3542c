"""Drained nodes that wait for a person: which they are, and what is to be done about them."""

from __future__ import annotations

import shlex

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import HardEvidence, LogSummary, OurDrain, our_reason, reasons

from . import messages


def for_a_person(
    name: str, state: NodeState, past: LogSummary, hard: HardEvidence, policy: Policy
) -> Finding | None:  # fmt: skip
    """Why a drained node waits for a person, and what the person does; None where it does not: it is not drained, only by
    others, or a run that passes is all that it needs."""
    if not state.drain:
        return None
    drained, ours, dead = past.drained.get(name), our_reason(state), state.words if state.dead else None
    if ours is None:
        return _edited(name, state.reason, drained, dead)
    if drained is None or not ours.same(reasons.find(drained.reason)):
        return messages.REASON_UNKNOWN.finding(name, state=dead)
    flapping = past.flaps.words(name, policy.flaps)
    if flapping is not None:
        return messages.FLAPS.finding(name, cause=flapping, state=dead)
    # A word about a drain that the log does not know makes it known, at that moment.
    cleared = past.cleared.get(name, 0.0) >= drained.at
    closed = drained.hard is False or cleared or _closed(name, drained, past, hard)
    if closed and not hard.open:
        return None
    return (messages.REBOOTED if repaired(hard) else messages.OPEN).finding(name, state=dead)


def not_to_be_retested(
    name: str, state: NodeState, past: LogSummary, hard: HardEvidence, policy: Policy
) -> Finding | None:  # fmt: skip
    """Why a node that waits for a person must not be tested again yet; None where its test is what is wanting."""
    flapping = past.flaps.words(name, policy.flaps) is not None
    return None if repaired(hard) and not flapping else for_a_person(name, state, past, hard, policy)


def repaired(hard: HardEvidence) -> bool:
    """Whether something was done about all that is open: a full run that passes is all that is wanting."""
    return bool(hard.waiting) and len(hard.waiting) == len(hard.open)


def _closed(name: str, drained: OurDrain, past: LogSummary, hard: HardEvidence) -> bool:
    """Whether a repair and a full passing run have closed the evidence of a drain."""
    ours = reasons.find(drained.reason)
    runs = {each.found_by.run for each in (*past.closed_evidence.get(name, ()), *hard.closed)}
    return ours is not None and ours.run in runs


def _edited(name: str, reason: str | None, drained: OurDrain | None, dead: str | None) -> Finding | None:
    """What is said of a drain that was ours, or begins as ours do, and whose reason somebody has changed."""
    if reason is None or (drained is None and not reason.startswith(reasons.PREFIX)):
        return None
    ours = drained.reason if drained is not None and drained.reason not in reason else None
    return messages.OTHER_REASON.finding(
        name, reason=" ".join(reason.split()), ours=ours, state=dead, quoted=shlex.quote(reason)
    )  # fmt: skip
