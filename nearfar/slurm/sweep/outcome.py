"""What a sweep found of each node: its result's verdict, or INDETERMINATE and Slurm's reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import ORDER, NearfarError, worst
from nearfar.slurm.results import NodeResult, Trust, result
from nearfar.verdict import Verdict

from . import job_script
from .pairing import NodeVerdict
from .state_file import SweepJob, SweepState

#: Slurm's reasons for a job that its node could not start.
_NOT_STARTED = ("JobLaunchFailure", "launch_failure", "RaisedSignal:53(Real-time signal 19)")


@dataclass(frozen=True)
class NodeOutcome:
    """One node's. ``state`` is Slurm's last word about its job; ``notes`` are lines about results that were not believed,
    ``pairs`` is what MPI with other nodes says of it."""

    node: str
    verdict: str
    reason: str | None
    result: NodeResult | None
    job: int | None = None
    state: str = ""
    notes: tuple[str, ...] = ()
    pairs: NodeVerdict | None = None


def outcomes(
    journal: SweepState, results: Path, trust: Trust, see: Callable[[NodeResult], None] = lambda _: None
) -> list[NodeOutcome]:
    """Every node of a sweep, worst first; in a nightly run without those that others had.

    ``see`` is called with each result as it is read; after that what their verdict files hold is not kept, which for a thousand
    nodes would fill the memory.
    """
    found = []
    for task in journal.tasks.values():
        one = outcome(journal, results, trust, task)
        if journal.plan.idle_only and task.made_way and one.verdict != "FAIL":
            continue
        if one.result is not None:
            see(one.result)
            checks = tuple(replace(check, whole=_bare(check.whole)) for check in one.result.checks)
            one = replace(one, result=replace(one.result, checks=checks))
        found.append(one)
    return worst_first(journal, found)


def _bare(verdict: Verdict) -> Verdict:
    nothing: dict[str, Any] = dict.fromkeys(("metrics", "findings", "missing", "failed", "skipped", "left_out"), ())
    return replace(verdict, measurement=None, software={}, **nothing)


def worst_first(journal: SweepState, found: Iterable[NodeOutcome]) -> list[NodeOutcome]:
    """Outcomes by verdict, then in the sweep's order."""
    places = {node: position for position, node in enumerate(journal.tasks)}
    return sorted(found, key=lambda one: (ORDER.index(one.verdict), places[one.node]))


def verdict(found: Iterable[NodeOutcome]) -> str:
    """The worst of them; INDETERMINATE for none."""
    words = [one.verdict for one in found]
    return worst(words) if words else "INDETERMINATE"


def outcome(journal: SweepState, results: Path, trust: Trust, task: SweepJob) -> NodeOutcome:
    """One node's: of its latest result that is believed."""
    notes: list[str] = []
    for attempt in range(task.attempt, 0, -1):
        place = result.place(results, journal.plan.sweep, task.node, attempt)
        if not place.exists():
            continue
        try:
            return _with_result(task, result.read(place, trust), tuple(notes))
        except NearfarError as error:
            notes.append(str(error))
    said = job_script.last_line(job_script.output(journal.folder, task))
    reason = notes[0] if notes else _without_result(task, said)
    return NodeOutcome(task.node, "INDETERMINATE", reason, None, task.job, task.state, tuple(notes))


def _with_result(task: SweepJob, read: NodeResult, notes: tuple[str, ...]) -> NodeOutcome:
    word, reason = read.verdict, read.reason
    if read.interrupted:
        word = worst([word, "INDETERMINATE"])
        ended = f"Slurm ended job {task.job} before it was through: {_slurm_words(task)}"
        reason = f"{reason}; {ended}" if reason and read.verdict == "FAIL" else ended
    return NodeOutcome(task.node, word, reason, read, task.job, task.state, notes)


def _without_result(task: SweepJob, said: str) -> str:
    """Why a node has no result, in a sentence: Slurm's word, Slurm's reason, and what the job said last."""
    last = f"; it said last: {said}" if said else ""
    if task.state == "refused":
        return f"not measured: {task.reason}"
    if not task.ended:
        about = f"job {task.job} is {_slurm_words(task)}" if task.job else "its turn has not come"
        return f"not measured yet: {about}{last}"
    if task.job is None:
        return f"never started: {task.reason}"
    if task.state in ("PENDING", "DEADLINE") and not said:
        return f"job {task.job} never started: {_slurm_words(task)}"
    # Slurm opens a job's output file on the node, and gives no other reason where it cannot.
    hint = (
        f"; does {task.node} see the results directory, and may it write there?" if task.reason in _NOT_STARTED else ""
    )
    return f"job {task.job} left no result: {_slurm_words(task)}{hint}{last}"


def _slurm_words(task: SweepJob) -> str:
    return f"{task.state} ({task.reason})" if task.reason else task.state
