"""What a sweep found of each node: its result's verdict, or INDETERMINATE and Slurm's reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from nearfar.base import ORDER, NearfarError, plural, worst
from nearfar.slurm.results import NodeResult, result, results_directory
from nearfar.slurm.trust import own

from . import slurm_jobs
from .sweep_file import Sweep, SweepJob

#: Slurm's reasons for a job that its node could not start.
_NOT_STARTED = ("JobLaunchFailure", "launch_failure", "RaisedSignal:53(Real-time signal 19)")


@dataclass(frozen=True)
class Outcome:
    """A job's: the verdict on its node or pair. ``notes`` are lines about results that were not believed, ``pairs`` is the verdict
    of MPI with other nodes."""

    job: SweepJob
    verdict: str
    reason: str | None
    result: NodeResult | None = None
    notes: tuple[str, ...] = ()
    pairs: str | None = None

    @property
    def name(self) -> str:
        """The node's name; of a pair ``n1+n2``."""
        return self.job.name

    @property
    def job_id(self) -> int | None:
        """The job that measured it; where none has, the one that was to."""
        return self.job.job_id if self.result is None or self.result.slurm is None else self.result.slurm["job"]


def outcomes(
    sweep: Sweep, on_result: Callable[[NodeResult], None] = lambda _: None, pairs: bool = False
) -> list[Outcome]:
    """Every node of a sweep, or every pair, worst first; in a nightly run without those that others had. ``on_result`` is called with each
    result as it is read; after that their figures are not kept, which for a thousand nodes would fill the memory."""
    found = []
    for job in (each for each in sweep.jobs.values() if (len(each.nodes) > 1) is pairs):
        one = outcome(sweep, job)
        if sweep.idle_only and job.made_way and one.verdict != "FAIL":
            continue
        if one.result is not None:
            on_result(one.result)
            checks = tuple(
                replace(check, figures=(), passed=frozenset(), cells=frozenset()) for check in one.result.checks
            )
            one = replace(one, result=replace(one.result, checks=checks))
        found.append(one)
    return worst_first(sweep, found)


def worst_first(sweep: Sweep, found: Iterable[Outcome]) -> list[Outcome]:
    """Outcomes by verdict, then in the sweep's order."""
    places = {name: position for position, name in enumerate(sweep.jobs)}
    return sorted(found, key=lambda one: (ORDER.index(one.verdict), places[one.name]))


def outcome(sweep: Sweep, job: SweepJob) -> Outcome:
    """A job's: of its latest result that is believed."""
    notes: list[str] = []
    for attempt in range(job.attempt, 0, -1):
        place = result.place(sweep.results, sweep.name, job.name, attempt)
        if not results_directory.is_there(place):
            continue
        try:
            return _with_result(job, result.read(place, own(sweep.results)), tuple(notes))
        except NearfarError as error:
            notes.append(str(error))
    last = slurm_jobs.last_line(slurm_jobs.output(sweep.folder, job))
    return Outcome(job, "INDETERMINATE", notes[0] if notes else _without_result(job, last), notes=tuple(notes))


def _with_result(job: SweepJob, read: NodeResult, notes: tuple[str, ...]) -> Outcome:
    if not read.interrupted:
        return Outcome(job, read.verdict, read.reason, read, notes)
    ended = f"Slurm ended job {read.slurm['job'] if read.slurm else job.job_id} before it was through"
    ended += f": {_slurm_words(job)}" if job.interrupted else ""
    reason = f"{read.reason}; {ended}" if read.reason and read.verdict == "FAIL" else ended
    return Outcome(job, worst([read.verdict, "INDETERMINATE"]), reason, read, notes)


def _without_result(job: SweepJob, last_line: str) -> str:
    """Why a node has no result, in a sentence: Slurm's word, Slurm's reason, and the last line of the job's output."""
    last = f"; its last line: {last_line}" if last_line else ""
    if job.state == "refused":
        return f"not measured: {job.reason}"
    if not job.ended:
        where = f"job {job.job_id} is {_slurm_words(job)}" if job.job_id else "its turn has not come"
        return f"not measured yet: {where}{last}"
    if job.job_id is None:
        return f"never started: {job.reason}"
    if job.state in ("PENDING", "DEADLINE") and not last:
        return f"job {job.job_id} never started: {_slurm_words(job)}"
    # Slurm opens a job's output file on the node, and gives no other reason where it cannot.
    hint = f"; does {job.name} see the results directory, and may it write there?" if job.reason in _NOT_STARTED else ""
    return f"job {job.job_id} left no result: {_slurm_words(job)}{hint}{last}"


def _slurm_words(job: SweepJob) -> str:
    return f"{job.state} ({job.reason})" if job.reason else job.state


def left_out(sweep: Sweep) -> dict[str, str]:
    """Why nodes of a nightly run were not measured, where that is no finding: others had them, or wanted them."""
    made_way = {j.name: f"{j.state}: {j.reason}" if j.reason else j.state for j in sweep.jobs.values() if j.made_way}
    return {**sweep.left_out, **made_way} if sweep.idle_only else {}


def nightly_summary(sweep: Sweep) -> str:
    """``6 of 40 nodes measured; not: 30 allocated, 4 drained``."""
    others = left_out(sweep)
    reasons = Counter(why.split(":")[0].split(" by ")[0] for why in others.values())
    why_not = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    measured = sum(job.has_result and not job.interrupted for job in sweep.jobs.values())
    many = f"{measured} of {plural(len({*sweep.jobs, *others}), 'node')} measured"
    return f"{many}; not: {why_not}" if why_not else many
