"""What was done about a node, and when: repairs and people's drains and resumes, by Slurm's record and the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from nearfar.base import second_text
from nearfar.slurm.controller import NodeState, versions
from nearfar.slurm.drains import our_reason

from .check_run import CheckRun
from .evidence import Evidence, Intervention
from .log_summary import LogSummary


def interventions(
    name: str, runs: Sequence[CheckRun], state: NodeState, past: LogSummary, now: float
) -> Iterator[Intervention]:  # fmt: skip
    """What was done about a node, by Slurm's record of it and the log."""
    drained, others = past.drained.get(name), past.drained_by_others.get(name)
    if drained is not None and not state.out and not past.retested(name):
        until = min(past.resumed_by_others.get(name, now), _resumed(drained.at, runs, state))
        yield Intervention(
            drained.at, until, True, f"somebody has resumed it since it was drained on {second_text(drained.at)}"
        )
    if others is not None and not state.out:
        words = f"somebody else had drained it by {second_text(others)}, and it is in use again"
        until = min(past.back_in_use.get(name, now), _resumed(others, runs, state))
        yield Intervention(others, until, True, words)
    # A reboot gives the reason of a drain its own time.
    if _drained_by_others(state) and state.reason_at is not None and not versions.ends_with_reboot(state.reason or ""):
        given = state.reason_at.timestamp()
        yield Intervention(given, given, True, f"it was drained by somebody else on {second_text(given)}")
    if state.booted is not None:
        yield Intervention(state.booted, state.booted, False, f"it was rebooted on {second_text(state.booted)}")


def _resumed(drained: float, runs: Sequence[CheckRun], state: NodeState) -> float:
    """The latest moment at which a node that is in use can have been resumed since it was drained: Slurm then sets the time that it
    was busy last, and as a job of Slurm a run can only have begun after it."""
    ran = min((run.began for run in runs if run.job and run.began > drained), default=inf)
    return min(ran, state.busy if state.busy is not None and state.busy > drained else inf)


def resumed_by_others(
    nodes: Mapping[str, NodeState], past: LogSummary, runs: Mapping[str, Sequence[CheckRun]], now: float
) -> Iterator[tuple[str, float]]:  # fmt: skip
    """Nodes drained by us that are in use though we have not resumed them, with the latest moment at which they can have been: what
    the log does not say yet. A slurmctld that is started anew no longer knows when a node was resumed."""
    for name, drained in past.drained.items():
        if name in nodes and not nodes[name].out and name not in past.resumed_by_others and not past.retested(name):
            yield name, min(now, _resumed(drained.at, runs.get(name, ()), nodes[name]))


def back_in_use(
    nodes: Mapping[str, NodeState], past: LogSummary, runs: Mapping[str, Sequence[CheckRun]], now: float
) -> Iterator[tuple[str, float]]:  # fmt: skip
    """Nodes that somebody else had drained, by the log, and that are in use, with the latest moment at which they can have been
    resumed: what the log does not say yet. What is found from then on was found after somebody resumed them."""
    for name, drained in past.drained_by_others.items():
        if name in nodes and not nodes[name].out and name not in past.back_in_use:
            yield name, min(now, _resumed(drained, runs.get(name, ()), nodes[name]))


def drained_by_others(
    nodes: Mapping[str, NodeState], open_: Mapping[str, Sequence[Evidence]], past: LogSummary
) -> Iterator[str]:  # fmt: skip
    """Nodes with open evidence that are drained by somebody else now, where the log does not say so yet: when they are in use
    again, somebody has resumed them."""
    for name, evidence in open_.items():
        state, known = nodes.get(name), max((each.found_by.known for each in evidence), default=0.0)
        if (
            state is not None
            and state.drain
            and _drained_by_others(state)
            and known > past.drained_by_others.get(name, 0.0)
        ):
            yield name


def reboots(
    nodes: Mapping[str, NodeState], open_: Mapping[str, Sequence[Evidence]], past: LogSummary
) -> Iterator[tuple[str, float]]:
    """Nodes that are drained by us or have open evidence and were rebooted since, with the time, where the log does not say so."""
    for name in sorted({*past.drained, *(name for name, evidence in open_.items() if evidence)}):
        booted = None if name not in nodes else nodes[name].booted
        known = [each.found_by.known for each in open_.get(name, ())]
        known += [past.drained[name].at] if name in past.drained else []
        # A node tells how long it is up; the time that Slurm makes of it wavers by a second or two.
        if booted is not None and booted > min(known) and booted > past.rebooted.get(name, 0.0) + 60:
            yield name, booted


def _drained_by_others(state: NodeState) -> bool:
    """Whether a node carries the reason of somebody who drained it. It may stay after a resume (``versions.REASON_KEPT``), which sets
    when the node was busy last; a reason that was only written onto a node in use is no drain. Nor is a reboot, which Slurm drains a node
    for (ASAP) and puts it into use after: who typed its reason has not said that anything was seen to."""
    reason, given = state.reason, state.reason_at
    if reason is None or versions.given_by_slurm(reason) or our_reason(state) is not None or "nearfar:" in reason:
        return False
    if state.rebooting or (not state.out and versions.ends_with_reboot(reason)):
        return False
    resumed = given is not None and state.busy is not None and state.busy >= given.timestamp()
    return state.drain or (not state.out and resumed)
