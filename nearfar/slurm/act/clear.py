"""A person's word, written into the log: nodes that were seen to, and drains that are allowed again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, plural
from nearfar.site import HEALTH, MPI_PAIRS
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.findings import ActLog, LogSummary, deaths, our_reason, reasons, summarize

from .options import ActOptions, check_names
from .state_directory import locked, prepare


def allow_drains(state: Path, because: str) -> str:
    """Allow drains again on a person's word; returns what had stopped them."""
    place = prepare(state)
    with locked(place):
        log = ActLog(place)
        stopped = summarize(log.entries()).stopped
        if stopped is None:
            raise NearfarError("drains are not stopped: nothing is held")
        log.note("reset_latch", time.time(), why=because)
    return stopped


def clear(options: ActOptions, names: Sequence[str], because: str, slurm: Slurm) -> Iterator[tuple[str, str]]:
    """Write down a person's word that nodes have been seen to: hard evidence that was known until now is closed. Gives each node when
    it is written down, with what follows, in words: one that is drained by us still has to pass.

    Raises ``NearfarError``, before anything is written, for nodes that neither Slurm nor the log knows.
    """
    place = prepare(options.state)
    with locked(place):
        log = ActLog(place)
        before = summarize(log.entries())
        nodes = deaths.with_our_reasons(slurm.nodes(), before)
        unknown = [name for name in names if name not in nodes and name not in before.evidence]
        if unknown:
            words = "Slurm has no such node, and the log knows nothing of it; nothing was done"
            raise NearfarError(f"{node_names.fold(unknown)}: {words}")
        for name in names:
            yield name, _one(name, nodes.get(name), before, because, log)


def _one(node: str, state: NodeState | None, before: LogSummary, because: str, log: ActLog) -> str:
    ours = None if state is None else our_reason(state)
    more: dict[str, Any] = {}
    if state is not None and state.drain and ours is not None:
        known = before.drained.get(node)
        if known is None or not ours.same(reasons.find(known.reason)):
            checks = (HEALTH, MPI_PAIRS, *check_names())
            check = next((name for name in checks if name.removesuffix("_check") == ours.check), ours.check)
            more = {"reason": state.reason, "check": check}
    log.note("clear", time.time(), node, why=because, **more)
    if state is not None and state.drain and ours is not None:
        return f"it is resumed once the check that drained it has passed: nearfar slurm retest {node}"
    closed = len(before.evidence.get(node, ()))
    found = f"{plural(closed, 'hard finding')} closed" if closed else "no hard finding of it was open"
    return f"{found}, slow figures from before count no more{_others_drain(state)}"


def _others_drain(state: NodeState | None) -> str:
    """That a node which others have taken out of use stays so, and what puts it back; empty for one that is in use."""
    if state is None or not state.out or our_reason(state) is not None:
        return ""
    reason = " ".join((state.reason or "").split())
    who, why = f" by {state.reason_by}" if state.reason_by else "", f" with '{reason}'" if reason else ""
    how = f"; when they have done: scontrol update nodename={state.name} state=resume" if state.drain else ""
    return f"; it stays {state.words}{who}{why}: not drained by act{how}"
