"""Nodes that ``act`` has drained, put into use again on a person's word: nothing is measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.findings import ActLog, LogSummary, deaths, our_reason, summarize

from .node_updates import resuming, write
from .options import ActOptions
from .quarantine import recover
from .state_directory import locked, prepare


@dataclass(frozen=True)
class Released:
    """How it went with a node: whether it is in use now, whether that is by this call, and in words."""

    node: str
    in_use: bool
    words: str
    released: bool = False


def release(options: ActOptions, names: Sequence[str], because: str, slurm: Slurm) -> Iterator[Released]:
    """Resume nodes that are drained with a reason of ours; one is given when it is done. What was found of them until now is closed.

    Raises ``NearfarError``, before anything is done, for names that Slurm does not know, and later where the next node would fare
    no better: no permission, no answer from slurmctld. The error names the nodes that were not reached.
    """
    place = prepare(options.state)
    with locked(place):
        log = ActLog(place)
        past, nodes = summarize(log.entries()), slurm.nodes()
        unknown = [name for name in names if name not in nodes]
        if unknown:
            raise NearfarError(f"{node_names.fold(unknown)}: Slurm has no such node; nothing was done")
        if past.quarantines:
            recover(past, slurm, log)
            past, nodes = summarize(log.entries()), slurm.nodes()
        nodes = deaths.with_our_reasons(nodes, past)
        for index, name in enumerate(names):
            try:
                yield _one(name, nodes[name], past, because, slurm, log)
            except NearfarError as error:
                raise type(error)(f"{error}; not released: {node_names.fold(names[index:])}") from None


def _one(name: str, state: NodeState, past: LogSummary, because: str, slurm: Slurm, log: ActLog) -> Released:
    if past.retested(name):
        return Released(name, False, "an interrupted retest of it could not be ended yet; the next act tries again")
    if not state.out:
        return _in_use(name, past, because, log)
    if not state.drain or our_reason(state) is None:
        return Released(name, False, _theirs(name, state))
    assert state.reason is not None
    problem = write(
        "release", name, resuming(state.reason, by_a_person=True), slurm, log, reason=state.reason, why=because
    )
    if problem is not None:
        return Released(name, False, problem.why)
    return Released(name, True, f"in use again; it was drained with '{state.reason}'", released=True)


def _in_use(name: str, past: LogSummary, because: str, log: ActLog) -> Released:
    """One that is in use: somebody has resumed it since it was drained, or it never was."""
    if name in past.drained or name in past.begun:
        log.note("release", time.time(), name, why=because)
        return Released(
            name, True, "nothing had to be done: it is not drained; what was found of it until now is closed"
        )
    found = f"; what was found of it: nearfar slurm clear {name} --because WORDS" if name in past.evidence else ""
    return Released(name, True, f"nothing had to be done: it is not drained{found}")


def _theirs(name: str, state: NodeState) -> str:
    reason = " ".join((state.reason or "").split())
    given = f" with '{reason}'" if reason else ""
    who = "" if state.reason_by is None else f" by {state.reason_by}"
    return (
        f"it is {state.words}{given}{who}, not drained by act: left alone; if that is over: scontrol update nodename={name} "
        "state=resume"
    )
