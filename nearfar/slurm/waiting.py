"""Drained nodes that wait for a person: which they are, and what is to be done about them."""

from __future__ import annotations

from nearfar.slurm import reasons
from nearfar.slurm.node_state import NodeState
from nearfar.slurm.observed import Drained, Past


def for_a_person(name: str, state: NodeState, past: Past) -> str | None:
    """Why a drained node waits for a person, and what the person does; None where it does not: it is not drained, only by
    others, or a run that passes is all that it needs."""
    if not state.drain:
        return None
    drained = past.drained.get(name)
    if reasons.read(state.reason) is None:
        return _edited(name, state.reason, drained)
    if drained is None or drained.reason != state.reason:
        return f"drained for a reason that the log does not know; {_to_clear(name)}"
    # A word about a drain that the log does not know makes it known, at that moment.
    if drained.hard is not False and past.cleared.get(name, 0.0) < drained.at:
        return f"hard evidence; {_to_clear(name)}"
    return None


def _to_clear(name: str) -> str:
    return f"once it has been seen to: nearfar slurm act --clear {name} --because WORDS"


def _edited(name: str, reason: str | None, drained: Drained | None) -> str | None:
    """What is said of a drain that was ours, or begins as ours do, and whose reason somebody has changed."""
    if reason is None or (drained is None and not reason.startswith(reasons.PREFIX)):
        return None
    ours = ""
    if drained is not None and drained.reason not in reason:
        ours = f" (this log drained it with '{drained.reason}')"
    return (
        f"its reason is not ours any more: '{' '.join(reason.split())}'{ours}: left alone; once it has been seen to: scontrol "
        f"update nodename={name} state=resume, or nearfar slurm act --retest {name} --accept-delivered REASON"
    )
