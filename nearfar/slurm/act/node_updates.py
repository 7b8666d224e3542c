"""One write to a node: written down first, the node read again just before the write, and read back after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.controller import NodeState, NotSeen, Objection, Refused, Slurm
from nearfar.slurm.drains import objections
from nearfar.slurm.ledger import Ledger, actions, end_action, note_action

from .node_states import NodeStatus


@dataclass(frozen=True)
class NodeWrite:
    """What is written, what would stop it, and how one sees that it has been done."""

    values: dict[str, str]
    objection: Objection
    seen: Callable[[NodeState], bool]


def carry_out(status: NodeStatus, system: str, slurm: Slurm, ledger: Ledger) -> str | None:
    """Drain a node as was decided; why it was not done, or None. Raises ``NearfarError`` where the next node would fare no better:
    no permission, no answer from slurmctld. Then the ledger has whether this one's write is unclear."""
    assert status.reason is not None and status.evidence is not None
    found, how = status.evidence.found_by, draining(status.reason, objections.objection_to_drain)
    refusal = write(
        actions.DRAIN, status.node, how, slurm, ledger, reason=status.reason, why=status.cause.reason, system=system,
        check=found.check, finding=status.evidence.finding, run=found.run,
    )  # fmt: skip
    return None if refusal is None else str(refusal)


def write(kind: str, node: str, how: NodeWrite, slurm: Slurm, ledger: Ledger, **more: Any) -> Refused | None:
    """One write with its row in the ledger; why it was refused, or None. Raises as ``carry_out`` does."""
    seq = note_action(ledger, kind, time.time(), node, actions.BEGUN, **more)
    try:
        slurm.update(node, how.objection, **how.values)
        slurm.wait(node, how.seen, 20.0)
    except NearfarError as error:
        outcome = actions.UNCLEAR if isinstance(error, CouldNotJudge) else actions.REFUSED
        end_action(ledger, seq, outcome, str(error))
        if isinstance(error, Refused):
            return error
        if isinstance(error, NotSeen):  # of this node alone: the others have their turn
            return Refused(node, str(error).removeprefix(f"{node}: "))
        raise
    end_action(ledger, seq, actions.DONE)
    return None


def draining(reason: str, objection: Objection) -> NodeWrite:
    """Drain a node with a reason."""
    return NodeWrite({"state": "drain", "reason": reason}, objection, lambda node: node.drain and node.reason == reason)


def resuming(reason: str, reserved: bool = False) -> NodeWrite:
    """Resume a node that is drained with exactly this reason, or with Slurm's own in its place; ``reserved``: for a retest."""
    return NodeWrite(
        {"state": "resume"},
        lambda node: objections.objection_to_resume(node, reason, reserved=reserved),
        lambda node: not node.drain,
    )
