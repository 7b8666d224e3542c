"""The log of ``act`` held against what Slurm shows: which of its drains were done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import reasons

from .log_summary import LogSummary, OurDrain

#: Seconds that slurmctld may take to save a change (SAVE_MAX_WAIT is 5): what it was told just before it was killed is lost.
SAVED = 15.0


@dataclass(frozen=True)
class SlurmView:
    """What Slurm shows: its nodes, and when slurmctld was started (asked for only where it matters)."""

    nodes: Mapping[str, NodeState]
    controller_started: Callable[[], float | None]


def reconciled(before: LogSummary, slurm: SlurmView) -> LogSummary:
    """The past, with drains of which the log does not know the end reconciled by what the nodes show.

    One that was begun counts as done where the node shows it; where it does not, its evidence is still to be acted on. The same
    holds for one that was done, that no later call has seen, and that a slurmctld which was started since does not know: it was
    killed before it had saved it.
    """
    drained, since = dict(before.drained), dict(before.since)
    for node, begun in before.begun.items():
        state = slurm.nodes.get(node)
        # Its reason, in use or not: one that was resumed since may keep it (versions.REASON_KEPT).
        if state is not None and _carries(state, begun):
            drained[node] = begun
            since[node] = max(since.get(node, begun.at), begun.at)
    in_use = [
        node
        for node, drain in drained.items()
        if node in slurm.nodes and not slurm.nodes[node].out and not _was_saved(drain, before.drain_seen.get(node))
    ]
    doubtful = [node for node in in_use if not _carries(slurm.nodes[node], drained[node])]
    started = slurm.controller_started() if doubtful else None
    for node in doubtful:
        if started is not None and started >= drained[node].at - 1:
            if since.get(node) == drained[node].at:
                del since[node]
            del drained[node]
    return replace(before, drained=drained, since=since)


def drains_seen(nodes: Mapping[str, NodeState], before: LogSummary, now: float) -> Iterator[str]:
    """Nodes that show a drain of ours which is old enough to have been saved: what the log does not say yet."""
    for node, drain in before.drained.items():
        state = nodes.get(node)
        if (
            state is not None
            and state.drain
            and not _was_saved(drain, before.drain_seen.get(node))
            and now - drain.at > SAVED
            and _carries(state, drain)
        ):
            yield node


def _was_saved(drain: OurDrain, seen: float | None) -> bool:
    """Whether a drain of ours was seen when slurmctld had saved it; who saw it by a clock that was ahead may have been too early."""
    return seen is not None and seen - drain.at > SAVED


def _carries(state: NodeState, drain: OurDrain) -> bool:
    ours = reasons.find(state.reason)
    return ours is not None and ours.same(reasons.find(drain.reason))
