"""An administrator's word that nodes were repaired or checked: what was found is closed, and drains of nearfar are taken back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from nearfar.base import NearfarError, plural
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.drains import drained_by_us
from nearfar.slurm.ledger import Ledger, Past, actions, close_findings, note_action

from . import admin_host, quarantine
from .node_updates import resuming, write
from .one_call import reconcile
from .view import ActOptions


@dataclass(frozen=True)
class Repaired:
    """How a clear or a retest went with a node, in words; ``in_use``: whether it is, as far as nearfar can do something about that."""

    node: str
    words: str
    in_use: bool = True


def clear(options: ActOptions, names: Sequence[str], because: str, slurm: Slurm) -> Iterator[Repaired]:
    """Close what is known of nodes until now, and resume those that nearfar drained; each is given when that is done. Raises
    ``NearfarError``, before anything is done, for names that Slurm does not know, and later where the next node would fare no better: no
    permission, no answer from slurmctld. The error names the nodes that were not reached."""
    state = admin_host.prepare(options.state)
    with admin_host.locked(state, slurm) as ledger:
        quarantine.recover(state, slurm, ledger)
        now, nodes = time.time(), slurm.nodes()
        past = reconcile(ledger, nodes, slurm.started, now)
        known = {row["node"] for row in ledger.rows("SELECT DISTINCT node FROM check_run")}
        unknown = [name for name in names if name not in nodes and name not in known]
        if unknown:
            words = "Slurm has no such node, and the ledger knows nothing of it; nothing was done"
            raise NearfarError(f"{node_names.fold(unknown)}: {words}")
        for index, name in enumerate(names):
            try:
                yield _clear(name, nodes.get(name), past, because, slurm, ledger)
            except NearfarError as error:
                raise type(error)(f"{error}; not cleared: {node_names.fold(names[index:])}") from None


def _clear(name: str, state: NodeState | None, past: Past, because: str, slurm: Slurm, ledger: Ledger) -> Repaired:
    if name in past.retested:
        words = f"not cleared: it is being retested inside reservation {past.retested[name]}"
        return Repaired(name, words, in_use=False)
    if drained_by_us(state, name in past.drained):
        assert state is not None and state.reason is not None
        problem = write(actions.CLEAR, name, resuming(state.reason), slurm, ledger, reason=state.reason, why=because)
        if problem is not None:
            return Repaired(name, f"not cleared: {problem.why}", in_use=False)
        [row] = ledger.rows("SELECT max(seq) AS seq FROM action WHERE node = ? AND kind = ?", name, actions.CLEAR)
        closed = _close(ledger, name, row["seq"])
        return Repaired(name, f"in use again; {closed}; it was drained with '{state.reason}'")
    with ledger.transaction():
        closed = _close(ledger, name, note_action(ledger, actions.CLEAR, time.time(), name, why=because))
    return Repaired(name, f"{closed}{_others_drain(state)}")


def _close(ledger: Ledger, name: str, seq: int) -> str:
    closed = close_findings(ledger, name, seq, inf, time.time())  # all that the ledger has is from before
    return f"{plural(closed, 'hard finding')} closed" if closed else "slow figures from before no longer count"


def _others_drain(state: NodeState | None) -> str:
    """That a node which others have taken out of use stays so, and what puts it back; empty for one that is in use."""
    if state is None or not state.out:
        return ""
    reason = " ".join((state.reason or "").split())
    who, why = f" by {state.reason_by}" if state.reason_by else "", f" with '{reason}'" if reason else ""
    how = f"; when they have done: scontrol update nodename={state.name} state=resume" if state.drain else ""
    return f"; it stays {state.words}{who}{why}: not drained by nearfar{how}"
