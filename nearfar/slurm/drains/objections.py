"""Why a node is left as it is: others' words, its state; asked when deciding, and again just before each write."""

from __future__ import annotations

from nearfar.slurm.controller import NodeState

from . import reasons
from .reasons import DrainReason

#: Reasons that Slurm gives a node which it finds dead, or newly booted.
DIED = ("Not responding", "Node unexpectedly rebooted")
#: States in which a node that has passed is not resumed yet.
_NOT_YET = {
    "INVALID_REG": "Slurm rejects its registration", "INVAL": "Slurm rejects its registration",
    "NOT_RESPONDING": "it does not answer", "POWERING_DOWN": "it is being powered down", "FAIL": "somebody, or a program, marked it",
}  # fmt: skip


def our_reason(state: NodeState) -> DrainReason | None:
    """The reason of ours that a node is out of use for, whatever others put before or behind it; None where it is in use or out
    of use for theirs."""
    return reasons.find(state.why_out)


def drained_by_us(state: NodeState | None, known: bool = False) -> bool:
    """Whether a node is drained with a reason of ours; where a drain of ours is ``known``, also with Slurm's own in its place, as
    recent versions write it on a node that died."""
    return state is not None and state.drain and (our_reason(state) is not None or (known and died(state)))


def died(state: NodeState) -> bool:
    """Whether Slurm gave the node's reason because it stopped answering, or was booted unexpectedly."""
    return state.reason is not None and state.reason.startswith(DIED)


def drained_by_prolog(state: NodeState) -> bool:
    """Whether Slurm drained a node because its prolog failed."""
    return state.drain and (state.reason or "").startswith("Prolog error")


def carries(state: NodeState, reason: str | None) -> bool:
    """Whether a node carries a drain of ours, by its reason: the same check of the same run, in use or not."""
    ours = reasons.find(state.reason)
    return ours is not None and ours.same(reasons.find(reason))


def unreadable(state: NodeState) -> str | None:
    """Why nothing at all is done about a node. Until it has registered, a slurmctld that was just started knows nothing of it."""
    if state.base == "UNKNOWN":
        return f"it is {state.words}: slurmctld has not heard from it yet"
    if state.base == "FUTURE":
        return f"it is {state.words}: not a node in service"
    if not state.known_words:
        return f"it is {state.words}: not a state that this version knows"
    return None


def objection_to_drain(state: NodeState) -> str | None:
    """Why a node must not be drained."""
    if state.gone:
        return f"it is {state.words}: that machine was given back, and the next of this name is another"
    objection = objection_to_drain_again(state) or unreadable(state)
    if objection is None and (state.base == "ERROR" or "FAIL" in state.flags):
        return f"it is {state.words}: marked by somebody, or a program"
    if objection is None and "REBOOT_ISSUED" in state.flags:
        return f"it is {state.words}: it is rebooted first"
    return objection


def objection_to_drain_again(state: NodeState) -> str | None:
    """Why a node in quarantine must not be drained as it was before; whether slurmctld has heard from it does not matter."""
    if state.why_out is not None and our_reason(state) is None:
        return f"its reason is not ours: '{state.reason}'"
    if state.drain:
        return "it is drained already"
    if state.base == "DOWN":
        return f"it is {state.words}: it runs no jobs"
    return None


def objection_to_resume(state: NodeState, reason: str, reserved: bool = False) -> str | None:
    """Why a node must not be resumed: only a drain that carries ``reason`` still is the one that was decided on. ``reserved``:
    nobody else gets at it."""
    if not state.drain:
        return f"it is not drained but {state.words}"
    theirs = state.reason is not None and state.reason.startswith(DIED) and reason.endswith(f" : {state.reason}")
    if state.reason != reason and not theirs:
        return f"its reason has changed to '{state.reason}'"
    if state.dead:
        return f"it is {state.words}"
    if state.base == "ERROR":
        return f"it is {state.words}: marked by somebody, or a program"
    if state.rebooting:
        return f"it is {state.words}: it is rebooted first"
    # A node that was just resumed is not heard from for a moment: within a reservation that does no harm.
    flags = state.flags - {"NOT_RESPONDING"} if reserved else state.flags
    not_yet = next((why for flag, why in _NOT_YET.items() if flag in flags), None)
    if not_yet is not None:
        return f"it is {state.words}: {not_yet}"
    return unreadable(state)
