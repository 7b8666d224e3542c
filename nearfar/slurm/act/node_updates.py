"""Doing what was decided: written down first, the node read again just before the write, and read back after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.controller import NodeState, Objection, Refused, Slurm
from nearfar.slurm.findings import ActLog, objections

from .decision import COMMENT, DRAIN, RESUME, Decision


@dataclass(frozen=True)
class NodeWrite:
    """One write to a node: what is said, what would stop it, and how one sees that it has been done."""

    values: dict[str, str]
    objection: Objection
    seen: Callable[[NodeState], bool]


def carry_out(decision: Decision, slurm: Slurm, log: ActLog) -> str | None:
    """Do what was decided about one node; why it was not done, or None.

    Raises ``NearfarError`` where the next node would fare no better: no permission, no answer from slurmctld. Then the
    log says whether this one's write is unclear.
    """
    more: dict[str, Any] = {"reason": decision.reason, "why": decision.why}
    if decision.evidence is not None:
        found, finding = decision.evidence.found_by, decision.evidence.finding.to_raw()
        more |= {"check": found.check, "finding": finding, "run": found.run, "source": found.source}
    refusal = write(decision.action, decision.node, _write(decision), slurm, log, **more)
    return None if refusal is None else str(refusal)


def write(action: str, node: str, how: NodeWrite, slurm: Slurm, log: ActLog, **more: Any) -> Refused | None:
    """One write with its two lines in the log; why it was refused, or None. Raises as ``carry_out`` does."""
    begun = log.begin(action, time.time(), node, **more)
    try:
        before = slurm.update(node, how.objection, **how.values)
        after = slurm.wait(node, how.seen, 20.0)
    except Refused as refusal:
        log.end(begun, "refused", time.time(), error=str(refusal))
        return refusal
    except CouldNotJudge as error:
        log.end(begun, "unclear", time.time(), error=str(error))
        raise
    except NearfarError as error:
        log.end(begun, "refused", time.time(), error=str(error))
        raise
    log.end(begun, "done", time.time(), before=before.words, after=after.words)
    return None


def _write(decision: Decision) -> NodeWrite:
    reason = decision.reason
    assert reason is not None
    if decision.action == DRAIN:
        return draining(reason, objections.objection_to_drain)
    if decision.action == RESUME:
        return resuming(reason)
    if decision.action == COMMENT:
        return NodeWrite({"comment": reason}, objections.objection_to_comment, lambda node: node.comment == reason)
    return NodeWrite({"comment": ""}, objections.objection_to_comment, lambda node: node.comment is None)


def draining(reason: str, objection: Objection) -> NodeWrite:
    """Drain a node with a reason."""
    return NodeWrite({"state": "drain", "reason": reason}, objection, lambda node: node.drain and node.reason == reason)


def resuming(reason: str, by_a_person: bool = False, reserved: bool = False) -> NodeWrite:
    """Resume a node that is drained with exactly this reason, or with Slurm's own in its place; ``by_a_person``: also one that answers
    and that Slurm keeps down; ``reserved``: for a retest."""
    return NodeWrite(
        {"state": "resume"},
        lambda node: objections.objection_to_resume(node, reason, by_a_person, reserved),
        lambda node: not node.drain,
    )
