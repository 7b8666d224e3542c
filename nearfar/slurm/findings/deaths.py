"""Nodes that stop answering while they are drained by us, and answer again.

Slurm 22.05 keeps our reason on them, from 23.02 on it appends `` : Not responding`` (``set_node_reason`` in node_mgr.c); a node that
reboots on its own before a requested reboot, or that dies in a retest, carries Slurm's reason alone. With ReturnToService 0 or 1
Slurm keeps such a node DOWN when it answers again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import DIED, drained_by_us, our_reason

from .log_summary import LogSummary


def with_our_reasons(nodes: Mapping[str, NodeState], past: LogSummary) -> dict[str, NodeState]:
    """The nodes, with our reason before Slurm's where Slurm put its own in its place, as recent versions of Slurm do."""
    found = dict(nodes)
    for name, drained in past.drained.items():
        state = nodes.get(name)
        if state is None or not state.drain or our_reason(state) is not None or name in past.resumed_by_others:
            continue
        if state.reason is not None and state.reason.startswith(DIED):
            found[name] = replace(state, reason=f"{drained.reason} : {state.reason}")
    return found


def died(nodes: Mapping[str, NodeState], past: LogSummary) -> Iterator[str]:
    """Nodes drained by us that do not answer, of which the log does not say so yet."""
    for name in past.drained:
        state = nodes.get(name)
        if state is not None and state.dead and drained_by_us(state) and not past.dead(name):
            yield name


def up_again(nodes: Mapping[str, NodeState], past: LogSummary) -> Iterator[str]:
    """Nodes drained by us that had died and answer now, of which the log does not say so yet."""
    for name in past.drained:
        state = nodes.get(name)
        if state is not None and drained_by_us(state) and past.dead(name) and "NOT_RESPONDING" not in state.flags:
            yield name
