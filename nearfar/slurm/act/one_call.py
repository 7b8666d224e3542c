"""``nearfar slurm act``: the one process that drains nodes, on the admin host, under a lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.slurm.controller import NodeState, Slurm
from nearfar.slurm.drains import carries, died, drained_by_us, our_reason
from nearfar.slurm.findings import intake
from nearfar.slurm.ledger import KEPT, Ledger, LedgerAction, Past, actions, close_findings, end_action, note_action

from . import admin_host, quarantine
from .node_states import NOTHING, NodeStatus
from .node_updates import carry_out
from .view import ActOptions, View, view_of, whole_name

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


#: Seconds that figures which passed are kept.
_FIGURES_KEPT = 10 * 86400.0


@dataclass(frozen=True)
class ActResult:
    """What a call of ``act`` did; ``view`` is the fleet after that."""

    view: View
    #: Every status with an action, and why it was not carried out (None: it was).
    done: Sequence[tuple[NodeStatus, str | None]] = ()
    #: Interrupted retests that were ended, and those that could not be.
    recovered: Sequence[str] = ()
    unclear: Sequence[str] = ()


def act(options: ActOptions, slurm: Slurm) -> ActResult:
    """End retests that were interrupted, take in what is new, decide, and do it."""
    state = admin_host.prepare(options.state)
    with admin_host.locked(state, slurm) as ledger:
        recovered, unclear = quarantine.recover(state, slurm, ledger)
        before = observe(ledger, options, slurm)
        done = [
            (status, carry_out(status, options.policy.system, slurm, ledger))
            for status in before.fleet.nodes.values()
            if status.action != NOTHING
        ]
        with ledger.transaction():
            note_action(ledger, actions.CALL, before.now, system=options.policy.system)
            ledger.write("DELETE FROM action WHERE kind = ? AND at < ?", actions.CALL, before.now - 86400.0)
            figures = max(_FIGURES_KEPT, options.policy.confirm_within + options.policy.max_age)
            ledger.forget(before.now - max(KEPT, options.policy.look_back), before.now - figures)
        after = before
        if done:
            now = time.time()
            seen = view_of(ledger, options, slurm.nodes(), actions.past(ledger, now), now)
            after = replace(before, facts=seen.facts, fleet=seen.fleet, acted=seen.acted)
    return ActResult(after, done, recovered, unclear)


def dry_run(options: ActOptions, slurm: Slurm, asked_for: Collection[str] = ()) -> View:
    """What ``act`` would see and decide now; nothing is written, and no rights are needed. ``asked_for``: nodes of which all runs are
    wanted."""
    kept = Ledger.read_only(options.state)
    with Ledger.in_memory(kept) as ledger:
        if kept is not None:
            with kept:
                admin_host.check_owner(kept, slurm.cluster())
        return observe(ledger, options, slurm, asked_for)


def observe(ledger: Ledger, options: ActOptions, slurm: Slurm, asked_for: Collection[str] = ()) -> View:
    """Hold the ledger against Slurm, take in what is new, and judge every node."""
    now, nodes = time.time(), slurm.nodes()
    past = reconcile(ledger, nodes, slurm.started, now)
    taken = intake.take_in(ledger, past, options.policy, options.results, options.health, slurm.cluster(), now)
    return view_of(ledger, options, nodes, past, now, taken, asked_for=asked_for)
