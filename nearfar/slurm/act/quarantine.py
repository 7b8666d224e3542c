"""A retest of drained nodes within Slurm: reserved, resumed inside the reservation, measured, then released or drained again.

Outside the reservation nobody can use them at any moment: they are drained, or reserved for this user alone without an end.
Whatever interrupts this drains them again first and takes the reservation away after it; what even that could not do, the
next ``nearfar slurm act`` finds in the log.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, good, passes, user_name
from nearfar.site import Policy
from nearfar.slurm.controller import NodeState, Slurm, reservations
from nearfar.slurm.findings import (
    ActLog,
    CheckRun,
    Evidence,
    LogSummary,
    OurDrain,
    fails,
    hard_evidence,
    log_line,
    objections,
)

from . import messages
from .decide import passed_since
from .decision import DRAIN, reason_of
from .node_updates import NodeWrite, draining, resuming, write
from .waiting_nodes import not_to_be_retested, repaired

#: Measures nodes inside a reservation and returns the runs that it left.
Measure = Callable[[Sequence[str], str], Sequence[CheckRun]]
PREFIX = "nearfar-retest-"


@dataclass(frozen=True)
class Suspect:
    """A node to be tested again: the reason that it is drained with, and for what; ``drained`` None: as delivered. ``open``: hard
    evidence that no person has cleared, and what was done about the node since: only a full run that passes closes it."""

    node: str
    reason: str
    drained: OurDrain | None
    open: tuple[Evidence, ...] = ()


@dataclass
class RetestResult:
    """How a retest ended for each node, in words; ``passed`` are in use again."""

    words: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)


def suspects(
    names: Sequence[str], nodes: Mapping[str, NodeState], past: LogSummary, policy: Policy, delivered: str | None
) -> list[Suspect]:  # fmt: skip
    """The nodes as they are before. ``delivered``: the exact reason that new nodes were drained with by others.

    Raises ``NearfarError`` for the first node that may not be resumed.
    """
    found = []
    for name in names:
        state = nodes.get(name)
        if state is None:
            raise NearfarError(f"{name}: Slurm has no such node")
        if not state.drain or state.reason is None:
            raise NearfarError(f"{name}: it is {state.words}, not drained: nothing has to be tested again")
        if state.rebooting:
            raise NearfarError(f"{name}: it is {state.words}: wait until it has been rebooted")
        if (state.base != "IDLE" and (state.base != "DOWN" or state.dead)) or not state.free_of_jobs:
            what = "it has to be up" if state.base in ("DOWN", "UNKNOWN") else "jobs still run on it; wait for them"
            raise NearfarError(f"{name}: it is {state.words}: {what}")
        drained = past.drained.get(name)
        hard = hard_evidence.that_drains(hard_evidence.of_node((), name, state, past, time.time()), policy)
        waits = not_to_be_retested(name, state, past, hard, policy)
        if objections.our_reason(state) is not None:
            if waits is not None:
                raise NearfarError(f"{name}: {waits.reason}")
            found.append(Suspect(name, state.reason, drained, hard.waiting))
        elif delivered is not None and state.reason == delivered:
            if hard.open and not repaired(hard):
                raise NearfarError(f"{name}: {messages.OPEN.finding(name, state=None).reason}")
            found.append(Suspect(name, state.reason, None, hard.waiting))
        else:
            more = "" if delivered is None else f", not '{delivered}'"
            raise NearfarError(
                f"{name}: drained by others with '{' '.join(state.reason.split())}'{more}; theirs to resume, or --accept-delivered REASON"
            )
    return found


def retest(
    these: Sequence[Suspect],
    policy: Policy,
    slurm: Slurm,
    log: ActLog,
    measure: Measure,
    beside: Sequence[str] = (),
    user: int | None = None,
) -> RetestResult:
    """Test nodes again; those that pass are in use afterwards, all others drained. ``beside``: nodes in use that are reserved
    and measured with them, and then are as they were; ``user``: the number of the one who measures (None: this one). Raises what
    Slurm's commands raise, after every node has been drained again where that was possible."""
    name, measures = PREFIX + secrets.token_hex(4), user_name(os.geteuid() if user is None else user)
    names = [*(suspect.node for suspect in these), *beside]
    log.note("quarantine", time.time(), reservation=name, nodes={s.node: _known(s) for s in these})
    try:
        reservations.make(slurm, name, names, measures)
        reservations.verify(slurm, name, names, measures)
        for suspect in these:
            how = resuming(suspect.reason, by_a_person=True, reserved=True)
            problem = write("retest", suspect.node, how, slurm, log, reservation=name)
            if problem is not None:
                raise CouldNotJudge(f"{suspect.node}: not tested again: {problem}")
        runs = list(measure(names, name))
    except BaseException as first:
        try:
            close(name, {s.node: _known(s) for s in these}, slurm, log)
        except NearfarError as error:
            raise CouldNotJudge(f"{first or 'interrupted'}; and {error}") from None
        raise
    outcome = RetestResult()
    again: dict[str, Mapping[str, Any]] = {}
    for suspect in these:
        drain, words = judge(suspect, runs, policy)
        _write_down(suspect, runs, drain is None, policy.system, log)
        outcome.words[suspect.node] = words
        if drain is None:
            outcome.passed.append(suspect.node)
        else:
            again[suspect.node] = drain
    close(name, again, slurm, log, outcome.passed)
    return outcome


def _write_down(suspect: Suspect, runs: Sequence[CheckRun], passed: bool, system: str, log: ActLog) -> None:
    """The hard evidence that a retest found, and what it has closed."""
    for run in runs:
        for finding in run.failures:
            if run.node == suspect.node and finding.hard:
                line = log_line(Evidence(run, finding))
                log.note("evidence", time.time(), suspect.node, **line, system=system)
    if passed and suspect.open:
        ids = [one.id for one in suspect.open]
        until = min(one.answered_until for one in suspect.open)
        log.note("closed", time.time(), suspect.node, evidence=ids, until=until, why="repaired, and its retest passed")


def judge(suspect: Suspect, runs: Sequence[CheckRun], policy: Policy) -> tuple[Mapping[str, Any] | None, str]:
    """What a node is to be drained with again after its retest (None: it passed), and why in words.

    ``runs`` are those of the retest. A node that we drained passes by the check that drained it, unless another check that may
    drain fails; a delivered one by every check.
    """
    of_node = [run for run in runs if run.node == suspect.node]
    if not of_node:
        return _known(suspect), "it left no result that counts: drained as before"
    # However a node's clock is set: these runs are of now.
    unending = replace(policy, max_age=inf, confirm_within=inf)
    failing = [e for e in fails(of_node, unending, 0.0, time.time()) if _matters(e, suspect, policy)]
    if failing:
        return _found(failing[0]), f"drained again: {failing[0].finding.reason}"
    if suspect.drained is None:
        unjudged = sorted({run.check for run in of_node if not passes(run.verdict)})
        if unjudged:
            return _known(suspect), f"{', '.join(unjudged)} could not be judged: drained as before"
        why = "accepted: every check passed"
    else:
        cause = passed_since(suspect.node, of_node, suspect.drained, 0.0)
        why = cause.reason
        if not good(cause.verdict):
            return _known(suspect), f"{why}: drained as before"
    still = next((e for e in suspect.open if hard_evidence.passed_fully(e, of_node) is None), None)
    if still is not None:
        words = f"{why}, but no full run that passes covers {still.found_by.check} {still.finding.subject}"
        return _known(suspect), f"{words}: drained as before"
    return None, why


def _matters(each: Evidence, suspect: Suspect, policy: Policy) -> bool:
    drained = suspect.drained
    if drained is None or each.found_by.check == drained.check:
        return True
    return policy.step(each.found_by.check, each.finding.hard) == DRAIN


def _known(suspect: Suspect) -> dict[str, Any]:
    """What the log has to say of a node that is drained as it was."""
    was = suspect.drained
    return {
        "reason": suspect.reason,
        **({} if was is None else {"check": was.check}),
        **({} if was is None or was.finding is None else {"finding": was.finding.to_raw()}),
    }


def _found(worst: Evidence) -> dict[str, Any]:
    return {
        "reason": str(reason_of(worst)), "check": worst.found_by.check, "finding": worst.finding.to_raw(), "run": worst.found_by.run,
    }  # fmt: skip


def close(
    name: str, again: Mapping[str, Mapping[str, Any]], slurm: Slurm, log: ActLog, passed: Sequence[str] = ()
) -> None:
    """End a quarantine: nodes that did not pass are drained again, and only then the reservation goes.

    Raises ``CouldNotJudge`` where a node could not be drained: the reservation then stays.
    """
    left = [node for node, known in again.items() if not _drained_again(name, node, known, slurm, log)]
    if left:
        words = f"not drained again; reservation {name} keeps jobs off until `nearfar slurm act` can"
        raise CouldNotJudge(f"{', '.join(left)}: {words}")
    log.note("quarantine_over", time.time(), reservation=name, passed=list(passed))
    reservations.remove(slurm, name)
    for node in passed:
        log.note("release", time.time(), node, reservation=name)
    log.note("quarantine_end", time.time(), reservation=name)


def _drained_again(name: str, node: str, known: Mapping[str, Any], slurm: Slurm, log: ActLog) -> bool:
    """Whether a node is drained now; by whom does not matter: it never was resumed, or somebody else was here."""
    state = slurm.node(node)
    if state.drain:
        return True
    if state.base == "DOWN" and state.reason is not None and objections.our_reason(state) is None:
        # It died. Slurm would take it back when it comes up: drained with Slurm's own reason it waits for a person.
        down = NodeWrite({"state": "drain", "reason": state.reason}, lambda now: None, lambda now: now.drain)
        return write("drain_as_before", node, down, slurm, log, reason=state.reason, reservation=name) is None
    more = {key: value for key, value in known.items() if key != "reason"}
    # Found anew, it is another drain; else the one before goes on, and so does what a person has said about it.
    action = "drain_again" if "run" in known else "drain_as_before"
    how = draining(str(known["reason"]), objections.objection_to_drain_again)
    problem = write(action, node, how, slurm, log, reason=known["reason"], reservation=name, **more)
    return problem is None or slurm.node(node).drain


def left_over(
    past: LogSummary, nodes: Mapping[str, NodeState], slurm: Slurm, log: ActLog
) -> tuple[list[str], list[str]]:
    """End the retests whose reservation is there though the log has their end: slurmctld was killed before it had saved that. As
    ``recover`` gives them; asked for only where a node is reserved."""
    if not any("RESERVED" in state.flags for state in nodes.values()):
        return [], []
    names = {one.name for one in reservations.show(slurm)} - past.quarantines.keys()
    lost = {name: known for name, known in past.ended_quarantines.items() if name in names}
    return _ended(lost, slurm, log)


def recover(past: LogSummary, slurm: Slurm, log: ActLog) -> tuple[list[str], list[str]]:
    """End the quarantines that an earlier process left open: a line for each that is ended, and for each that is not."""
    return _ended(past.quarantines, slurm, log)


def _ended(
    quarantines: Mapping[str, Mapping[str, Mapping[str, Any]]], slurm: Slurm, log: ActLog
) -> tuple[list[str], list[str]]:
    ended, still = [], []
    for name, nodes in quarantines.items():
        try:
            close(name, nodes, slurm, log, _not_released(name, log))
        except NearfarError as error:
            still.append(f"{name}: an interrupted retest: {error}")
            continue
        if nodes:
            ended.append(f"{name}: an interrupted retest; its nodes are drained as before: {', '.join(sorted(nodes))}")
    return ended, still


def _not_released(name: str, log: ActLog) -> list[str]:
    """The nodes that passed in a retest of which the log has no release: it was interrupted just then."""
    of_retest = [entry for entry in log.entries() if entry.more.get("reservation") == name]
    passed = {node for entry in of_retest if entry.action == "quarantine_over" for node in entry.more.get("passed", ())}
    return sorted(passed - {entry.node for entry in of_retest if entry.action == "release"})
