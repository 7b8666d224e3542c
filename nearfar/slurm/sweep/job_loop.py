"""The jobs of a sweep submitted at once, in lanes, and waited for until every node has a result or a reason why not.

Slurm holds the number of jobs at once, so that jobs go on and leave their results while nobody watches. slurmctld is asked about all
jobs at once, seldom, and may be away for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.base import CouldNotJudge, NearfarError, write_atomically
from nearfar.slurm.controller import NodeState, Slurm

from . import begin_or_resume, slurm_jobs, sweep_file
from .begin_or_resume import first_objection, occupation, refusal
from .outcome import outcome
from .slurm_jobs import JobState, Pace, passing, print_line
from .sweep_file import WITHDRAWN, Sweep, SweepJob


@dataclass
class SweepLoop:
    """A sweep as it goes on. ``on_end`` is called with each job that comes to its end.

    ``clock`` only grows, ``now`` is seconds since 1970, ``sleep`` waits: tests bring their own.
    """

    sweep: Sweep
    slurm: Slurm
    on_end: Callable[[SweepJob], None] = lambda job: None
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        """What it remembers between two questions."""
        self._nodes: dict[str, NodeState] = {}
        self._nodes_at = self._asked_at = self._submit_at = float("-inf")
        self._interval, self._away = self.pace.first, False
        #: Whether the last submission may or may not have been taken.
        self._doubtful = False
        #: When a job was first seen at its end, or gone, without a result.
        self._gone: dict[str, float] = {}

    @property
    def _waiting(self) -> list[SweepJob]:
        return [job for job in self.sweep.jobs.values() if job.waiting]

    @property
    def _outstanding(self) -> list[SweepJob]:
        return [job for job in self.sweep.jobs.values() if job.outstanding]

    def run(self, watch: bool = True) -> None:
        """Until all jobs have ended; without ``watch`` until all are submitted. Raises ``NearfarError`` for submissions that Slurm
        refuses for good."""
        while self._waiting or (watch and self._outstanding):
            self._ask()
            self._submit()
            self.sleep(self.pace.submit if self._waiting else self.pace.poll)

    def _end(self, job: SweepJob, state: str, reason: str, has_result: bool = False) -> None:
        job.state, job.reason, job.ended, job.has_result = state, reason, True, has_result
        job.interrupted = has_result and sweep_file.was_interrupted(self.sweep, job)
        self.on_end(job)

    # What slurmctld says.

    def _ask(self) -> None:
        """Ask about jobs and nodes, when it is time. A controller that is away is waited for until the deadline."""
        if self.clock() - self._asked_at < self._interval:
            return
        self.sweep.check_place()
        self._asked_at, self._interval = self.clock(), min(1.5 * self._interval, self.pace.jobs)
        try:
            if self._outstanding or self._doubtful:
                self._take_over(slurm_jobs.jobs(self.slurm, self.sweep.lanes.values()))
            queued = any(job.queued for job in self.sweep.jobs.values())
            if queued and self.clock() - self._nodes_at >= self.pace.nodes:
                self._nodes, self._nodes_at = self.slurm.nodes(), self.clock()
                self._refuse()
            self._end_overdue()
        except NearfarError as error:
            self._not_answered(error)
            return
        if self._away:
            print_line("slurmctld answers again")
        self._away = False

    def _not_answered(self, error: NearfarError) -> None:
        if not passing(error):
            raise error
        if self.now() > self.sweep.deadline + self.pace.result_wait:
            raise CouldNotJudge(f"{error}; the sweep's deadline has come, and it is not waited for any longer")
        if not self._away:
            print_line(f"slurmctld does not answer ({error}); jobs go on, and so does this when it is back")
        self._away = True

    def _take_over(self, states: Iterable[JobState]) -> None:
        """Take over what squeue says of the sweep's jobs, also of one whose submission was not answered."""
        by_id = {state.job_id: state for state in states}
        if self._doubtful:
            begin_or_resume.adopt(self.sweep, by_id.values())
            self._doubtful = False
        for job in self._outstanding:
            slurms = by_id.get(job.job_id or 0)
            if slurms is not None and not (job.state in WITHDRAWN and slurms.state == "CANCELLED"):
                job.state, job.reason = slurms.state, slurms.reason
            why = "the job is gone" if slurms is None else job.reason
            if slurms is not None and not slurms.ended:
                self._gone.pop(job.name, None)
            elif slurms is not None and not slurms.started:
                self._end(job, job.state, job.reason)
            elif sweep_file.has_result(self.sweep, job):
                self._end(job, job.state, why, has_result=True)
            # slurmctld forgets a job after MinJobAge, and may not know it yet; a result may be seen late.
            elif self.clock() - self._gone.setdefault(job.name, self.clock()) > self.pace.result_wait:
                self._end(job, job.state, why)

    def _refuse(self) -> None:
        """End what waits for a node on which no job will start; in a nightly run, for one that is not idle any more."""
        state, objection = ("busy", occupation) if self.sweep.idle_only else ("refused", refusal)
        queued = [job for job in self.sweep.jobs.values() if job.queued]
        why = {job.name: first_objection(job.nodes, self._nodes, objection) for job in queued}
        self._withdraw([job for job in queued if why[job.name]], state, why)

    def _withdraw(self, these: Sequence[SweepJob], state: str, why: Mapping[str, str | None]) -> None:
        """End jobs that wait, and cancel those that have not started: squeue will say whether one has meanwhile."""
        for job in these:
            job.state, job.reason = state, why.get(job.name) or job.reason
            if job.job_id is None:
                self._end(job, job.state, job.reason)
        numbers = [str(job.job_id) for job in these if job.job_id is not None]
        if numbers:
            self.slurm.call("scancel", "--quiet", "--state=PENDING", *numbers)

    def _end_overdue(self) -> None:
        """End what still waits after the deadline, where Slurm has not ended it (a held job)."""
        if self.now() > self.sweep.deadline + self.pace.result_wait and not self._doubtful:
            why = {job.name: "the sweep's deadline came before its turn" for job in self._waiting}
            self._withdraw(self._waiting, "waiting", why)
            self._withdraw([job for job in self._outstanding if job.queued], "DEADLINE", {})

    # What is submitted.

    def _submit(self) -> None:
        """The next job that waits. Nothing is submitted while nobody knows whether the last one was taken, or how the nodes are."""
        job = next(iter(self._waiting), None)
        blind = self._doubtful or self._away or not self._nodes
        if job is None or blind or self.clock() < self._submit_at or self.now() >= self.sweep.deadline:
            return
        slurm_jobs.set_output_aside(self.sweep.folder, job)
        try:
            job.job_id = slurm_jobs.submit(self.slurm, slurm_jobs.submission(self.sweep, job, self.now()))
            job.state = "PENDING"
        except NearfarError as error:
            words = str(error)
            if passing(error):
                self._doubtful = True
                self._not_answered(error)
            elif "Requested node configuration is not available" in words or "Invalid node name" in words:
                self._end(job, "refused", f"Slurm refuses the job: {words.rpartition(': ')[2]}")
            elif "policy" in words.lower() and self._outstanding:
                self._submit_at = self.clock() + self.pace.jobs  # a limit on jobs: as they end there is room
            else:
                self.sweep.check_place()
                raise


def measure(sweep: Sweep, slurm: Slurm, pace: Pace, watch: bool = True) -> None:
    """Submit the jobs of a sweep, wait for them, and print what comes of them; without ``watch`` only submit. The results directory is
    locked by the caller."""
    sweep.save()
    # The sweep may be in another place than it was begun in.
    write_atomically(sweep.folder / slurm_jobs.SCRIPT, slurm_jobs.text(sweep), "name another --results DIR", mode=0o644)

    def say(job: SweepJob) -> None:
        one, ended = outcome(sweep, job), sum(each.ended for each in sweep.jobs.values())
        reason = f": {one.reason}" if one.reason and one.verdict != "PASS" else ""
        print_line(f"{job.name}: {one.verdict} ({ended} of {len(sweep.jobs)}){reason}")

    SweepLoop(sweep, slurm, say, pace).run(watch)
