"""``nearfar slurm act``: the one process that drains nodes, on the admin host, under a lock."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from nearfar.slurm.controller import Slurm
from nearfar.slurm.findings import intake
from nearfar.slurm.ledger import KEPT, Ledger, actions, note_action

from . import admin_host, quarantine
from .node_states import NOTHING, NodeStatus
from .node_updates import carry_out
from .reconcile import reconcile
from .view import ActOptions, View, view_of

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
