"""Writes to nodes: each is written down first, the node read again just before it, and read back after it. And a retest's reservation:
nodes resumed inside it, and afterwards drained again or released.

Outside the reservation nobody can use them at any moment: they are drained, or reserved for the one who measures alone, without an end.
Whatever interrupts a retest, the next ``act`` finds it in the ledger, and that its process is gone: it drains the nodes again first, and
takes the reservation away after.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, Finding, NearfarError, files
from nearfar.slurm.controller import NodeState, NotSeen, Objection, Refused, Slurm, reservations
from nearfar.slurm.drains import objections
from nearfar.slurm.ledger import Ledger, actions, close_findings, end_action, note_action

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


PREFIX = "nearfar-retest-"
#: Seconds after its end in which a retest's reservation may be there again.
_LATELY = 3600.0


@contextlib.contextmanager
def alive(state: Path, name: str) -> Iterator[None]:
    """Held by the process of a retest as long as it lives: the kernel lets it go."""
    with files.file_lock(state / f"{name}.lock", mode=0o600):
        try:
            yield
        finally:
            (state / f"{name}.lock").unlink(missing_ok=True)


def _is_alive(state: Path, name: str) -> bool:
    try:
        with open(state / f"{name}.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def begin(name: str, nodes: Mapping[str, Mapping[str, Any]], user: str, slurm: Slurm, ledger: Ledger) -> None:
    """Reserve nodes, and resume them. ``nodes``: what each is drained with (again). Raises what Slurm's commands raise,
    after every node has been drained again where that was possible."""
    ledger.write("INSERT INTO retest VALUES (?, ?, NULL, ?)", name, time.time(), json.dumps(nodes))
    try:
        reservations.make(slurm, name, list(nodes), user)
        reservations.verify(slurm, name, list(nodes), user)
        for node, known in nodes.items():
            how = resuming(str(known["reason"]), reserved=True)
            problem = write(actions.RETEST, node, how, slurm, ledger, reservation=name)
            if problem is not None:
                raise CouldNotJudge(f"{node}: not retested: {problem}")
    except BaseException as first:
        try:
            end(name, nodes, {}, 0.0, slurm, ledger)
        except NearfarError as error:
            raise CouldNotJudge(f"{first or 'interrupted'}; and {error}") from None
        raise


def end(
    name: str, again: Mapping[str, Mapping[str, Any]], passed: Mapping[str, str], began: float, slurm: Slurm, ledger: Ledger,
) -> None:  # fmt: skip
    """End a retest: nodes that did not pass are drained again, those that ``passed`` (with why) are released, and only then the
    reservation goes. What was found after it ``began`` stays open. Raises ``CouldNotJudge`` where a node could not be drained: the
    reservation then stays."""
    left = [node for node, known in again.items() if not _drained_again(name, node, known, slurm, ledger)]
    if left:
        words = f"not drained again; reservation {name} keeps jobs off until `nearfar slurm act` can"
        raise CouldNotJudge(f"{', '.join(left)}: {words}")
    with ledger.transaction():
        # Nodes that passed are released by this, whatever happens next.
        ledger.write("UPDATE retest SET nodes = ? WHERE reservation = ?", json.dumps(again), name)
        now = time.time()
        for node, why in passed.items():
            seq = note_action(ledger, actions.RELEASE, now, node, reservation=name, why=why, seen=began)
            close_findings(ledger, node, seq, began, now)
    reservations.remove(slurm, name)
    ledger.write("UPDATE retest SET ended = ? WHERE reservation = ?", time.time(), name)


def _drained_again(name: str, node: str, known: Mapping[str, Any], slurm: Slurm, ledger: Ledger) -> bool:
    """Whether a node is drained now; by whom does not matter: it never was resumed, or somebody else was here."""
    state = slurm.node(node)
    if state.drain:
        return True
    if state.base == "DOWN" and state.reason is not None and objections.our_reason(state) is None:
        # It died. Slurm would take it back when it comes up: drained with Slurm's own reason it waits for an administrator.
        down = NodeWrite({"state": "drain", "reason": state.reason}, lambda now: None, lambda now: now.drain)
        return write(actions.DRAIN_AS_BEFORE, node, down, slurm, ledger, reason=state.reason, reservation=name) is None
    # Found anew, it is another drain; else the one before goes on.
    kind = actions.DRAIN_AGAIN if "run" in known else actions.DRAIN_AS_BEFORE
    finding = Finding.from_raw(known["finding"]) if known.get("finding") else None
    how = draining(str(known["reason"]), objections.objection_to_drain_again)
    problem = write(
        kind, node, how, slurm, ledger, reason=known["reason"], check=known.get("check"), finding=finding, run=known.get("run"),
        reservation=name,
    )  # fmt: skip
    return problem is None or slurm.node(node).drain


def recover(state: Path, slurm: Slurm, ledger: Ledger) -> tuple[list[str], list[str]]:
    """End the retests whose process is gone, and take away reservations that were left: a line for each that is ended, and for each
    that could not be."""
    ended, still = [], []
    for row in (*ledger.rows("SELECT * FROM retest WHERE ended IS NULL"), *_forgotten(slurm, ledger)):
        name, nodes = row["reservation"], json.loads(row["nodes"])
        if _is_alive(state, name):
            continue
        try:
            end(name, nodes, {}, 0.0, slurm, ledger)
        except NearfarError as error:
            still.append(f"{name}: an interrupted retest: {error}")
            continue
        (state / f"{name}.lock").unlink(missing_ok=True)
        if nodes:
            ended.append(f"{name}: an interrupted retest; its nodes are drained as before: {', '.join(sorted(nodes))}")
    return ended, still


def _forgotten(slurm: Slurm, ledger: Ledger) -> Iterator[sqlite3.Row]:
    """The retests whose end slurmctld does not know: it was killed before it had saved that."""
    lately = ledger.rows("SELECT * FROM retest WHERE ended >= ?", time.time() - _LATELY)
    there = {each.name for each in reservations.show(slurm)} if lately else set()
    return (row for row in lately if row["reservation"] in there)
