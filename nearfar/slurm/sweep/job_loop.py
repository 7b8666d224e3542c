"""One job per node, a few at a time, until every node has a result or a reason why not.

Results are seen on the shared file system; slurmctld is asked about all jobs at once, seldom, and may be away for a while.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm.controller import NodeState, node_names
from nearfar.slurm.results import result

from .job_script import SCRIPT, output, submission
from .node_selection import gpus, occupation, refusal
from .slurmctld import ENDED, Controller, JobState, passing
from .state_file import SweepJob, SweepState

#: Why a pending job waits for a node that will not come back by itself.
_BLOCKED = ("ReqNodeNotAvail", "Nodes required for job are DOWN", "NodeDown", "BadConstraints")


@dataclass(frozen=True)
class Pace:
    """Seconds. ``settle``: how long a result may take from a node's close to this host's sight (NFS keeps attributes for
    a minute)."""

    submit: float = 0.2
    look: float = 0.5
    ask_first: float = 1.0
    ask_last: float = 6.0
    nodes: float = 30.0
    settle: float = 75.0
    save: float = 2.0


@dataclass
class SweepLoop:
    """A sweep as it goes on. ``tell`` is called with each task that comes to its end, ``say`` with words about the rest.

    ``look_up`` is called at every look. ``clock`` only grows, ``now`` is seconds since 1970, ``sleep`` waits: tests bring their own.
    """

    journal: SweepState
    controller: Controller
    results: Path
    tell: Callable[[SweepJob], None] = lambda task: None
    say: Callable[[str], None] = lambda words: None
    look_up: Callable[[], None] = lambda: None
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        """What it remembers between two looks."""
        tasks = self.journal.tasks.values()
        #: Tasks without a job, in their order, and those with one that may still leave a result.
        self._waiting = [task for task in tasks if task.job is None and not task.ended]
        self._outstanding = [task for task in tasks if task.outstanding]
        self._nodes: dict[str, NodeState] = {}
        self._nodes_at = self._asked_at = self._submitted_at = self._saved_at = float("-inf")
        self._interval = self.pace.ask_first
        self._away = False
        #: Tasks whose submission may or may not have been taken.
        self._doubtful: set[str] = set()
        #: Why a job was taken out of the queue: a state and words.
        self._withdrawn: dict[str, tuple[str, str]] = {}
        #: When a job was first seen at its end, or gone, without a result.
        self._gone: dict[str, float] = {}

    @property
    def done(self) -> bool:
        """Nothing more will come."""
        return not self._waiting and not self._outstanding

    def run(self) -> None:
        """Until all tasks have ended. Raises ``NearfarError`` for orders that Slurm refuses for good."""
        try:
            while True:
                self._collect()
                self._ask()
                self._overdue()
                self._submit()
                if self.clock() - self._saved_at >= self.pace.save:
                    self._save()
                self.look_up()
                if self.done:
                    return
                self.sleep(min(self.pace.look, self.pace.submit))
        finally:
            self._save()

    def _save(self) -> None:
        self._saved_at = self.clock()
        self.journal.save()

    def _end(self, task: SweepJob, state: str, reason: str, has_result: bool = False) -> None:
        task.state, task.reason, task.ended, task.has_result = state, reason, True, has_result
        self._gone.pop(task.node, None)
        (self._outstanding if task in self._outstanding else self._waiting).remove(task)
        self.tell(task)

    def _has_job(self, task: SweepJob, job: int) -> None:
        task.job, task.state = job, "PENDING"
        self._waiting.remove(task)
        self._outstanding.append(task)

    # What the file system says.

    def _collect(self) -> None:
        for task in list(self._outstanding):
            settled = self.clock() - self._gone.get(task.node, float("inf")) > self.pace.settle
            if self._has_result(task):
                task.interrupted = self._was_interrupted(task)
                # What ended a job early is Slurm's to say, and it says so once the job is gone.
                if not task.interrupted or settled or task.state in ENDED:
                    self._end(task, task.state, task.reason, has_result=True)
            elif settled:
                gone = "" if task.state in ENDED else "the job is gone"
                self._end(task, task.state, task.reason or gone)

    def _result(self, task: SweepJob) -> Path:
        return result.place(self.results, self.journal.plan.sweep, task.node, task.attempt) / result.RESULT

    def _has_result(self, task: SweepJob) -> bool:
        return self._result(task).exists()

    def _was_interrupted(self, task: SweepJob) -> bool:
        """Whether a result says so; what is no result is judged when all are merged."""
        try:
            return bool(json.loads(self._result(task).read_bytes()).get("interrupted"))
        except (OSError, ValueError, AttributeError):
            return False

    # What slurmctld says.

    def _ask(self) -> None:
        if not (self._outstanding or self._doubtful or self._needs_nodes()):
            return
        if self.clock() - self._asked_at < self._interval or not self.controller.may_ask():
            return
        self._asked_at = self.clock()
        try:
            changed = False
            if self._outstanding or self._doubtful:
                changed = self._see(self.controller.jobs(self.journal.plan.job_name))
            if self._needs_nodes() and self.controller.may_ask():
                self._nodes, self._nodes_at = self.controller.nodes(), self.clock()
                self._refuse()
            self._back()
        except NearfarError as error:
            self._passed(error)
            return
        self._interval = self.pace.ask_first if changed else min(self._interval * 1.5, self.pace.ask_last)

    def _passed(self, error: NearfarError) -> None:
        """A controller that is away is waited for; everything else is the user's to mend."""
        if not passing(error):
            raise error
        self._interval = self.pace.ask_last
        if not self._away:
            self.say(f"slurmctld does not answer ({error}); jobs go on, and so does this when it is back")
        self._away = True

    def _back(self) -> None:
        if self._away:
            self.say("slurmctld answers again")
        self._away = False

    def _needs_nodes(self) -> bool:
        """Before each submission the nodes' states are known, within limits; a job that is blocked asks for them sooner."""
        age = self.clock() - self._nodes_at
        blocked = any(self._is_blocked(task) for task in self._outstanding)
        if self.journal.plan.idle_only:
            blocked = any(task.state == "PENDING" for task in self._outstanding)
        return (bool(self._waiting) and age >= self.pace.nodes) or (blocked and age >= self.pace.ask_last)

    @staticmethod
    def _is_blocked(task: SweepJob) -> bool:
        return task.state == "PENDING" and task.reason.startswith(_BLOCKED)

    def _see(self, jobs: Iterable[JobState]) -> bool:
        """Take over what squeue says; whether anything is new."""
        by_number = {job.job: job for job in jobs}
        latest = {frozenset(node_names.expand(job.wanted)): job for _, job in sorted(by_number.items()) if job.wanted}
        known = {task.job for task in self.journal.tasks.values()}
        changed = False
        for node in sorted(self._doubtful):
            job = latest.get(frozenset(self.journal.tasks[node].hosts))
            if job is not None and job.job not in known:
                self._has_job(self.journal.tasks[node], job.job)
                changed = True
        self._doubtful.clear()
        for task in list(self._outstanding):
            job = by_number.get(task.job or 0)
            changed |= self._update(task, job)
        return changed

    def _update(self, task: SweepJob, job: JobState | None) -> bool:
        if job is None:
            # MinJobAge has passed, or the job is not in slurmctld's memory yet.
            self._gone.setdefault(task.node, self.clock())
            return False
        before = task.state, task.reason
        task.state, task.reason = job.state, "" if job.reason == "None" else job.reason
        if job.ended and not job.started:
            self._end(task, *self._withdrawn.get(task.node, (job.state, task.reason)))
        elif job.ended:
            self._gone.setdefault(task.node, self.clock())
        else:
            self._gone.pop(task.node, None)
        return before != (task.state, task.reason)

    def _refuse(self) -> None:
        """End what waits for a node on which no job will start; in a nightly run, also for one that is wanted by others."""
        plan = self.journal.plan
        for task in list(self._waiting):
            refused = self._why(task, refusal)
            why = self._why(task, occupation) if plan.idle_only else refused
            if why is not None and task.node not in self._doubtful:
                self._end(task, "refused" if refused else "busy", why)
        pending = [task for task in self._outstanding if task.state == "PENDING"]
        for task in pending:
            refused, busy = self._why(task, refusal), self._why(task, occupation)
            if plan.idle_only and busy is not None:
                self._withdraw(task, "refused" if refused else "busy", busy)
            elif self._is_blocked(task) and refused is not None:
                self._withdraw(task, "refused", refused)

    def _why(self, task: SweepJob, objection: Callable[[NodeState | None], str | None]) -> str | None:
        """The first objection to a node of the task, with its name where there are two."""
        said = {name: objection(self._nodes.get(name)) for name in task.hosts}
        told = [words if len(said) == 1 else f"{name}: {words}" for name, words in said.items() if words is not None]
        return told[0] if told else None

    def _withdraw(self, task: SweepJob, state: str, why: str) -> None:
        """Take a job out of the queue. It may have started meanwhile: whether it ended is what squeue says next."""
        self._withdrawn[task.node] = state, why
        self.controller.cancel_pending([task.job] if task.job is not None else [])

    def _overdue(self) -> None:
        if self.now() < self.journal.plan.deadline:
            return
        for task in list(self._waiting):
            if task.node not in self._doubtful:
                self._end(task, "waiting", "the sweep's deadline came before its turn")
        # Slurm itself ends what cannot end before the deadline; what it leaves (a held job) is ended here.
        late = [task for task in self._outstanding if task.state == "PENDING" and task.node not in self._withdrawn]
        if late and self.now() > self.journal.plan.deadline + self.pace.settle and not self._away:
            try:
                for task in late:
                    self._withdraw(task, "DEADLINE", task.reason)
            except NearfarError as error:
                self._passed(error)

    # What it is told.

    def _submit(self) -> None:
        """At most one job at a time, so that results and answers are seen between two."""
        plan = self.journal.plan
        room = plan.window - len(self._outstanding) - len(self._doubtful)
        waiting = next((task for task in self._waiting if task.node not in self._doubtful), None)
        too_soon = self.clock() - self._submitted_at < self.pace.submit
        if room <= 0 or waiting is None or not self._nodes or self._away or too_soon or self.now() >= plan.deadline:
            return
        task, self._submitted_at = waiting, self.clock()
        folder = self.journal.folder
        try:
            options = submission(plan, task, output(folder, task), self.now())
            words = [task.node, str(task.attempt), str(gpus(plan.gres.get(task.node, "")))]
            self._has_job(task, self.controller.submit(options, str(folder / SCRIPT), *words))
            self._interval = self.pace.ask_first
        except NearfarError as error:
            self._not_taken(task, error)

    def _not_taken(self, task: SweepJob, error: NearfarError) -> None:
        words = str(error)
        if passing(error):
            self._doubtful.add(task.node)  # it may have been taken all the same
            self._passed(error)
        elif "Requested node configuration is not available" in words or "Invalid node name" in words:
            self._end(task, "refused", f"Slurm refuses the job: {words.rpartition(': ')[2]}")
        elif "policy" in words.lower() and self._outstanding:
            self._submitted_at = self.clock() + self.pace.ask_last  # a limit on jobs: as they end there is room
        else:
            raise error
