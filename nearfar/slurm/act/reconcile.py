"""The ledger held against Slurm, which is the truth about nodes: which drains were done, ended, or begun by the nodes themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import carries, died, drained_by_us, our_reason
from nearfar.slurm.ledger import Ledger, LedgerAction, Past, actions, close_findings, end_action, note_action

from .view import whole_name

#: Seconds that slurmctld may take to save a change (SAVE_MAX_WAIT is 5): what it was given just before it was killed is lost.
_SAVED = 15.0
#: What the ledger keeps of a drain whose reason somebody has replaced.
_REPLACED = "its reason was replaced"


def reconcile(ledger: Ledger, nodes: Mapping[str, NodeState], started: Callable[[], float | None], now: float) -> Past:
    """Write down what Slurm shows of our drains, and return the ledger's past with it. ``started``: asks when slurmctld was started."""
    past = actions.past(ledger, now)
    lost = not any(state.drain for state in nodes.values())
    with ledger.transaction():
        for node, drain in past.drained.items():
            state = nodes.get(node)
            if state is None and drain.outcome == actions.DONE:  # should it come back, nobody has resumed it
                note_action(ledger, actions.LAPSED, now, node, why="Slurm has no such node")
            elif state is not None and node not in past.retested:
                _one(ledger, node, drain, state, started, lost, now)
        for node, state in _unknown(past, nodes):
            ours = our_reason(state)
            assert ours is not None and state.reason is not None
            at = now if state.reason_at is None else min(now, state.reason_at.timestamp())
            note_action(
                ledger, actions.ADOPTED, at, node, reason=state.reason, check=whole_name(ours.check), run=ours.run, user=state.reason_by,
                seen=now,
            )  # fmt: skip
        past = actions.past(ledger, now)
        # A process that was killed just after it had put a node back has not closed what was found on it.
        for row in ledger.rows("SELECT DISTINCT node FROM finding WHERE hard AND closed_by IS NULL"):
            if row["node"] in past.answered:
                answer = past.answered[row["node"]]
                close_findings(ledger, row["node"], answer.seq, answer.jobs, answer.at)
    return past


def _unknown(past: Past, nodes: Mapping[str, NodeState]) -> Iterator[tuple[str, NodeState]]:
    """Nodes drained with a reason of ours that the ledger does not have: their own health checks did it."""
    for node, state in nodes.items():
        if drained_by_us(state) and node not in past.retested:
            drain = past.drained.get(node)
            if drain is None or not carries(state, drain.reason):
                yield node, state


def _one(
    ledger: Ledger, node: str, drain: LedgerAction, state: NodeState, started: Callable[[], float | None], lost: bool, now: float,
) -> None:  # fmt: skip
    """``lost``: Slurm shows no drain at all, as a slurmctld that has lost what it had saved."""
    shown = carries(state, drain.reason)
    seen = drain.at if drain.seen is None else max(drain.at, min(drain.seen, now))
    saved = drain.seen is not None and drain.seen - drain.at > _SAVED
    if drain.outcome != actions.DONE:
        # In use or not: a node that was resumed since may keep the reason (slurm-versions.md), also that of an earlier drain.
        shown = shown and (state.reason_at is None or state.reason_at.timestamp() >= int(drain.at))
        end_action(ledger, drain.seq, actions.DONE if shown else actions.VOID)
        ledger.write("UPDATE action SET seen = ? WHERE seq = ?", now if shown else None, drain.seq)
    elif state.out:
        error = None if shown or died(state) else _REPLACED
        ledger.write("UPDATE action SET seen = ?, error = ? WHERE seq = ?", now, error, drain.seq)
    elif not saved and not shown and _restarted(started, drain.at):
        end_action(ledger, drain.seq, actions.VOID, "slurmctld was killed before it had saved it")
    elif ledger.rows("SELECT 1 FROM action WHERE seq = ? AND error = ?", drain.seq, _REPLACED):
        why = "another reason was written over ours, and that drain was taken back"
        note_action(ledger, actions.LAPSED, now, node, why=why)
    elif lost and not shown and _restarted(started, seen):
        note_action(ledger, actions.LAPSED, now, node, why="slurmctld was started anew and shows no drain at all")
    else:
        # After it was last seen drained; if jobs ran since, Slurm tells when they ended.
        at = state.busy if state.busy is not None and seen <= state.busy <= now else seen
        seq = note_action(ledger, actions.RESUMED, at, node, why="an administrator resumed it", seen=seen)
        close_findings(ledger, node, seq, seen, now)


def _restarted(started: Callable[[], float | None], since: float) -> bool:
    at = started()
    return at is not None and at >= since - 1
