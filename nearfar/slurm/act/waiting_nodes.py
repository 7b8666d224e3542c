"""Drained nodes that wait for a person: which they are, and what is to be done about them."""

from __future__ import annotations

import shlex

from nearfar.site import Policy
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import HardEvidence, LogSummary, OurDrain, our_reason, reasons


def for_a_person(
    name: str, state: NodeState, past: LogSummary, hard: HardEvidence, policy: Policy
) -> str | None:  # fmt: skip
    """Why a drained node waits for a person, and what the person does; None where it does not: it is not drained, only by
    others, or a run that passes is all that it needs."""
    if not state.drain:
        return None
    drained, ours = past.drained.get(name), our_reason(state)
    if ours is None:
        return _edited(name, state.reason, drained)
    if drained is None or not ours.same(reasons.find(drained.reason)):
        return f"drained for a reason that the log does not know; {to_clear(name)}"
    flapping = past.flaps.words(name, policy.flaps)
    if flapping is not None:
        return f"flaps: {flapping}; {to_clear(name)}"
    # A word about a drain that the log does not know makes it known, at that moment.
    cleared = past.cleared.get(name, 0.0) >= drained.at
    closed = drained.hard is False or cleared or _closed(name, drained, past, hard)
    if closed and not hard.open:
        return None
    if repaired(hard):
        return (
            f"hard evidence, and it was rebooted since: a full run that passes releases it: nearfar slurm retest {name}"
        )
    return f"hard evidence; {to_clear(name)}"


def not_to_be_retested(
    name: str, state: NodeState, past: LogSummary, hard: HardEvidence, policy: Policy
) -> str | None:  # fmt: skip
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


def to_clear(name: str) -> str:
    """What a person does who has seen to a node."""
    return f"once it is repaired or checked: nearfar slurm clear {name} --because WORDS"


def _edited(name: str, reason: str | None, drained: OurDrain | None) -> str | None:
    """What is said of a drain that was ours, or begins as ours do, and whose reason somebody has changed."""
    if reason is None or (drained is None and not reason.startswith(reasons.PREFIX)):
        return None
    ours = ""
    if drained is not None and drained.reason not in reason:
        ours = f" (this log drained it with '{drained.reason}')"
    return (
        f"its reason is not ours any more: '{' '.join(reason.split())}'{ours}: left alone; once it is repaired or checked: scontrol "
        f"update nodename={name} state=resume, or nearfar slurm retest {name} --accept-delivered {shlex.quote(reason)}"
    )
