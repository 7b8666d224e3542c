"""A person's word, written into the log: nodes that were seen to, and drains that are allowed again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError
from nearfar.site import HEALTH, MPI_PAIRS
from nearfar.slurm.controller import Slurm
from nearfar.slurm.findings import ActLog, our_reason, reasons, summarize

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


def clear(options: ActOptions, node: str, because: str, slurm: Slurm) -> str:
    """Write down a person's word that a node has been seen to: hard evidence that was known until now is closed. Returns what
    follows, in words: one that is drained by us still has to pass.

    Raises ``NearfarError`` for a node that neither Slurm nor the log knows.
    """
    place = prepare(options.state)
    with locked(place):
        log = ActLog(place)
        before = summarize(log.entries())
        state = slurm.nodes().get(node)
        if state is None and node not in before.evidence:
            raise NearfarError(f"{node}: Slurm has no such node, and the log knows nothing of it")
        ours = None if state is None else our_reason(state)
        more: dict[str, Any] = {}
        if state is not None and state.drain and ours is not None:
            known = before.drained.get(node)
            if known is None or not ours.same(reasons.find(known.reason)):
                names = (HEALTH, MPI_PAIRS, *check_names())
                check = next((name for name in names if name.removesuffix("_check") == ours.check), ours.check)
                more = {"reason": state.reason, "check": check}
        log.note("clear", time.time(), node, why=because, **more)
    if state is not None and state.drain and ours is not None:
        return f"it is resumed once the check that drained it has passed: nearfar slurm retest {node}"
    closed = len(before.evidence.get(node, ()))
    found = (
        f"{closed} finding{'s are' if closed != 1 else ' is'} closed" if closed else "no hard finding of it was open"
    )
    return f"{found}, slow figures from before count no more; what is found from now on counts"
