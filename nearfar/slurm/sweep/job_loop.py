"""One job per node, a few at a time, until every node has a result or a reason why not.

Results are seen on the shared file system; slurmctld is asked about all jobs at once, seldom, and may be away for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from nearfar.base import CouldNotJudge, NearfarError, write_atomically
from nearfar.slurm.controller import NodeState
from nearfar.slurm.results import result

from . import found_again, job_script
from .node_selection import first_objection, occupation, refusal
from .progress import SweepProgress
from .slurmctld import ENDED, Controller, JobState, Pace, passing
from .sweep_file import Sweep, SweepJob

#: Why a pending job waits for a node that will not come back by itself.
_BLOCKED = ("ReqNodeNotAvail", "Nodes required for job are DOWN", "NodeDown", "BadConstraints")


def _is_blocked(job: SweepJob) -> bool:
    return job.state == "PENDING" and job.reason.startswith(_BLOCKED)


@dataclass
class SweepLoop:
    """A sweep as it goes on. ``on_end`` is called with each job that comes to its end, ``on_message`` with a line about the rest,
    ``on_poll`` at every look.

    ``clock`` only grows, ``now`` is seconds since 1970, ``sleep`` waits: tests bring their own.
    """

    sweep: Sweep
    controller: Controller
    on_end: Callable[[SweepJob], None] = lambda job: None
    on_message: Callable[[str], None] = lambda text: None
    on_poll: Callable[[], None] = lambda: None
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        """What it remembers between two looks."""
        jobs = self.sweep.jobs.values()
        #: Those that were not submitted yet, in their order, and those that may still leave a result.
        self._waiting = [job for job in jobs if job.job_id is None and not job.ended]
        self._outstanding = [job for job in jobs if job.outstanding]
        self._nodes: dict[str, NodeState] = {}
        self._nodes_at = self._queried_at = self._submitted_at = self._saved_at = float("-inf")
        self._interval, self._away = self.pace.query_first, False
        #: Jobs whose submission may or may not have been taken.
        self._doubtful: set[str] = set()
        #: Whether Slurm has yet to be asked for jobs that the file does not know; and those jobs of the sweep before that had ended.
        self._unasked = self.sweep.resumed
        self._of_before: set[str] = set()
        #: Why a job was taken out of the queue: a state and a reason.
        self._withdrawn: dict[str, tuple[str, str]] = {}
        #: When a job was first seen at its end, or gone, without a result.
        self._gone: dict[str, float] = {}

    @property
    def done(self) -> bool:
        """Nothing more will come."""
        return not self._waiting and not self._outstanding

    def run(self) -> None:
        """Until all jobs have ended. Raises ``NearfarError`` for submissions that Slurm refuses for good."""
        try:
            while True:
                self._collect()
                self._query()
                self._overdue()
                self._submit()
                if self.clock() - self._saved_at >= self.pace.save:
                    self._save()
                self.on_poll()
                if self.done:
                    return
                self.sleep(min(self.pace.poll, self.pace.submit))
        finally:
            self._save()

    def _save(self) -> None:
        self._saved_at = self.clock()
        self.sweep.save()

    def _end(self, job: SweepJob, state: str, reason: str, has_result: bool = False) -> None:
        job.state, job.reason, job.ended, job.has_result = state, reason, True, has_result
        self._gone.pop(job.name, None)
        (self._outstanding if job in self._outstanding else self._waiting).remove(job)
        self.on_end(job)

    def _again(self, job: SweepJob) -> None:
        """Another turn for a job that had ended without a result before the sweep was resumed."""
        self._gone.pop(job.name, None)
        self._outstanding.remove(job)
        job.attempt, job.job_id, job.state, job.reason = job.attempt + 1, None, "waiting", ""
        self._waiting.append(job)

    def _submitted(self, job: SweepJob, job_id: int) -> None:
        job.job_id, job.state = job_id, "PENDING"
        self._waiting.remove(job)
        self._outstanding.append(job)

    # What the file system says.

    def _collect(self) -> None:
        for job in list(self._outstanding):
            waited = self.clock() - self._gone.get(job.name, float("inf")) > self.pace.result_wait
            if self._has_result(job):
                job.interrupted = self._was_interrupted(job)
                # What ended a job early is Slurm's to say, and it says so once the job is gone.
                if not job.interrupted or waited or job.state in ENDED:
                    self._end(job, job.state, job.reason, has_result=True)
            elif waited and job.name in self._of_before:
                self._again(job)
            elif waited:
                gone = "" if job.state in ENDED else "the job is gone"
                self._end(job, job.state, job.reason or gone)

    def _has_result(self, job: SweepJob) -> bool:
        return (result.place(self.sweep.results, self.sweep.name, job.name, job.attempt) / result.RESULT).exists()

    def _was_interrupted(self, job: SweepJob) -> bool:
        return bool(found_again.left(self.sweep, job).get("interrupted"))

    # What slurmctld says.

    def _query(self) -> None:
        if not (self._unasked or self._outstanding or self._doubtful or self._needs_nodes()):
            return
        if self.clock() - self._queried_at < self._interval or not self.controller.may_ask():
            return
        self._queried_at = self.clock()
        try:
            changed = False
            if self._unasked:
                found_again.refuse_another_cluster(self.sweep, self.controller)
            if self._unasked or self._outstanding or self._doubtful:
                changed = self._update_all(self.controller.jobs(self.sweep.job_name))
            if self._needs_nodes() and self.controller.may_ask_more():
                self._nodes, self._nodes_at = self.controller.nodes(), self.clock()
                self._refuse()
            self._answered()
        except NearfarError as error:
            self._not_answered(error)
            return
        self._interval = self.pace.query_first if changed else min(self._interval * 1.5, self.pace.query_last)

    def _not_answered(self, error: NearfarError) -> None:
        """A controller that is away is waited for; everything else is the user's to fix."""
        if not passing(error):
            raise error
        if self.now() > self.sweep.deadline + self.pace.result_wait:
            raise CouldNotJudge(f"{error}; the sweep's deadline has come, and it is not waited for any longer")
        self._interval = self.pace.query_last
        if not self._away:
            self.on_message(f"slurmctld does not answer ({error}); jobs go on, and so does this when it is back")
        self._away = True

    def _answered(self) -> None:
        if self._away:
            self.on_message("slurmctld answers again")
        self._away = False

    def _needs_nodes(self) -> bool:
        """Before each submission the nodes' states are known, within limits; a job that is blocked asks for them sooner."""
        age = self.clock() - self._nodes_at
        blocked = any(_is_blocked(job) for job in self._outstanding)
        if self.sweep.idle_only:
            blocked = any(job.state == "PENDING" for job in self._outstanding)
        return (bool(self._waiting) and age >= self.pace.nodes) or (blocked and age >= self.pace.query_last)

    def _update_all(self, states: Iterable[JobState]) -> bool:
        """Take over what squeue says; whether anything is new."""
        by_id = {state.job_id: state for state in states}
        changed = self._find_again(by_id)
        for job in list(self._outstanding):
            changed |= self._update(job, by_id.get(job.job_id or 0))
        return changed

    def _find_again(self, by_id: Mapping[int, JobState]) -> bool:
        """Take over jobs that were submitted and are not known here; whether there were any."""
        doubtful = [job for job in self._waiting if self._unasked or job.name in self._doubtful]
        found = found_again.submitted(self.sweep, doubtful, by_id.values()) if doubtful else {}
        for job in doubtful:
            if job.name in found:
                job.attempt, number = found[job.name]
                self._submitted(job, number)
        if self._unasked:
            found_again.skip_begun(self.sweep, self._waiting)
            shown = {job.name: by_id.get(job.job_id or 0) for job in self._outstanding}
            self._of_before = {name for name, state in shown.items() if state is None or state.ended}
        self._unasked, self._doubtful = False, set()
        return bool(found)

    def _update(self, job: SweepJob, slurms: JobState | None) -> bool:
        if slurms is None:
            # MinJobAge has passed, or the job is not in slurmctld's memory yet.
            self._gone.setdefault(job.name, self.clock())
            return False
        before = job.state, job.reason
        job.state, job.reason = slurms.state, "" if slurms.reason == "None" else slurms.reason
        if slurms.ended and not slurms.started and job.name in self._of_before:
            self._again(job)
        elif slurms.ended and not slurms.started:
            self._end(job, *self._withdrawn.get(job.name, (slurms.state, job.reason)))
        elif slurms.ended:
            self._gone.setdefault(job.name, self.clock())
        else:
            self._gone.pop(job.name, None)
            self._of_before.discard(job.name)
        return before != (job.state, job.reason)

    def _refuse(self) -> None:
        """End what waits for a node on which no job will start; in a nightly run, also for one that is wanted by others."""
        for job in list(self._waiting):
            refused = self._why(job, refusal)
            why = self._why(job, occupation) if self.sweep.idle_only else refused
            if why is not None and job.name not in self._doubtful:
                self._end(job, "refused" if refused else "busy", why)
        pending = [job for job in self._outstanding if job.state == "PENDING"]
        for job in pending:
            refused, busy = self._why(job, refusal), self._why(job, occupation)
            if self.sweep.idle_only and busy is not None:
                self._withdraw(job, "refused" if refused else "busy", busy)
            elif _is_blocked(job) and refused is not None:
                self._withdraw(job, "refused", refused)

    def _why(self, job: SweepJob, objection: Callable[[NodeState | None], str | None]) -> str | None:
        return first_objection(job.nodes, self._nodes, objection)

    def _withdraw(self, job: SweepJob, state: str, why: str) -> None:
        """Take a job out of the queue. It may have started meanwhile: whether it ended is what squeue says next."""
        self._withdrawn[job.name] = state, why
        self.controller.cancel_pending([job.job_id] if job.job_id is not None else [])

    def _overdue(self) -> None:
        if self.now() < self.sweep.deadline:
            return
        for job in list(self._waiting):
            if job.name not in self._doubtful:
                self._end(job, "waiting", "the sweep's deadline came before its turn")
        # Slurm itself ends what cannot end before the deadline; what it leaves (a held job) is ended here.
        late = [job for job in self._outstanding if job.state == "PENDING" and job.name not in self._withdrawn]
        if late and self.now() > self.sweep.deadline + self.pace.result_wait and not self._away:
            try:
                for job in late:
                    self._withdraw(job, "DEADLINE", job.reason)
            except NearfarError as error:
                self._not_answered(error)

    # What is submitted.

    def _submit(self) -> None:
        """At most one job at a time, so that results and answers are seen between two."""
        room = self.sweep.max_jobs - len(self._outstanding) - len(self._doubtful)
        waiting = next((job for job in self._waiting if job.name not in self._doubtful), None)
        too_soon = self.clock() - self._submitted_at < self.pace.submit
        over = self.now() >= self.sweep.deadline
        blind = self._unasked or self._away or not self._nodes
        if room <= 0 or waiting is None or blind or too_soon or over:
            return
        job, self._submitted_at = waiting, self.clock()
        folder = self.sweep.folder
        try:
            options = job_script.submission(self.sweep, job, job_script.output(folder, job), self.now())
            words = job_script.arguments(self.sweep, job)
            self._submitted(job, self.controller.submit(options, str(folder / job_script.SCRIPT), *words))
            self._interval = self.pace.query_first
        except NearfarError as error:
            self._not_taken(job, error)

    def _not_taken(self, job: SweepJob, error: NearfarError) -> None:
        words = str(error)
        if passing(error):
            self._doubtful.add(job.name)  # it may have been taken all the same
            self._not_answered(error)
        elif "Requested node configuration is not available" in words or "Invalid node name" in words:
            self._end(job, "refused", f"Slurm refuses the job: {words.rpartition(': ')[2]}")
        elif "policy" in words.lower() and self._outstanding:
            self._submitted_at = self.clock() + self.pace.query_last  # a limit on jobs: as they end there is room
        else:
            raise error


def measure(sweep: Sweep, controller: Controller, pace: Pace) -> None:
    """Run all jobs of a sweep, and print what comes of them. The results directory is locked by the caller."""
    if sweep.resumed:  # it may be in another place than it was begun in
        write_atomically(
            sweep.folder / job_script.SCRIPT, job_script.text(sweep), "name another --results DIR", mode=0o644
        )
    progress = SweepProgress(sweep)
    SweepLoop(sweep, controller, progress.job_ended, progress.message, progress.counts, pace).run()
