"""The sweep's loop against a simulated slurmctld and clock: how often it asks, what it does about each of Slurm's answers."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.sweep import begin_or_resume, outcome, slurm_jobs, sweep_file
from nearfar.slurm.sweep.job_loop import SweepLoop
from nearfar.slurm.sweep.slurm_jobs import JobState, Pace
from nearfar.slurm.sweep.sweep_file import Sweep
from tests.support.sweeping import planned

AWAY = CouldNotJudge("squeue: Unable to contact slurm controller (connect failure)")


@dataclass
class PretendedSlurm:
    """Stands in for slurmctld: jobs that take ``length`` seconds each and leave a result, unless ``fate`` says otherwise."""

    results: Path
    length: float = 300.0
    fate: dict[str, str] = field(default_factory=dict)
    states: dict[str, NodeState] = field(default_factory=dict)
    away: tuple[float, float] = (0.0, 0.0)
    now: float = 1000.0
    asked: list[float] = field(default_factory=list)
    submitted: list[float] = field(default_factory=list)
    #: Node and start of each job; a job of a lane starts when the one before it has ended.
    jobs: dict[int, tuple[str, float]] = field(default_factory=dict)
    lanes: dict[str, float] = field(default_factory=dict)
    outputs: dict[int, str] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)
    results_seen: set[str] = field(default_factory=set)

    def call(self, *command: str) -> str:
        """One of Slurm's commands."""
        if self.away[0] <= self.now < self.away[1]:
            raise AWAY
        if command[0] == "sbatch":
            return self._submit(command)
        if command[0] == "scancel":
            assert "--state=PENDING" in command
            self.cancelled |= {int(word) for word in command if word.isdigit()}
            return ""
        self.asked.append(self.now)
        return "".join(self._line(job, *about) for job, about in self.jobs.items())

    def cluster(self) -> str:
        return "c"

    def nodes(self) -> dict[str, NodeState]:
        self.asked.append(self.now)
        if self.away[0] <= self.now < self.away[1]:
            raise AWAY
        return self.states

    def _submit(self, command: Sequence[str]) -> str:
        given = dict(word.removeprefix("--").partition("=")[::2] for word in command if word.startswith("--"))
        assert given["dependency"] == "singleton"
        self.submitted.append(self.now)
        number = len(self.jobs) + 1
        self.outputs[number] = given["output"]
        start = max(self.now, self.lanes.get(given["job-name"], 0.0))
        self.lanes[given["job-name"]] = start + self.length
        self.jobs[number] = given["nodelist"], start
        return f"{number}\n"

    def _line(self, job: int, node: str, began: float) -> str:
        fate, over = self.fate.get(node, "COMPLETED"), self.now - began > self.length
        if job in self.cancelled or fate == "blocked":
            state = (
                ("CANCELLED", "None")
                if job in self.cancelled
                else ("PENDING", f"ReqNodeNotAvail, UnavailableNodes:{node}")
            )
            return f"{job}|{state[0]}||{state[1]}|{self.outputs[job]}\n"
        if began > self.now:
            return f"{job}|PENDING||Dependency|{self.outputs[job]}\n"
        why = "None" if fate == "COMPLETED" else "Why"
        return f"{job}|{fate if over else 'RUNNING'}|{node}|{why}|{self.outputs[job]}  \n"

    def sleep(self, seconds: float) -> None:
        """Time goes on, and results appear."""
        assert self.now < 1e7, "it never ends"
        self.now += seconds
        self.results_seen |= {
            node for node, began in self.jobs.values() if self.now - began > self.length and node not in self.fate
        }


def sweep(
    pretended: PretendedSlurm,
    nodes: Iterable[str],
    monkeypatch: pytest.MonkeyPatch,
    made: Sweep | None = None,
    **more: Any,
) -> SweepLoop:
    """A sweep over some nodes (or the one that was ``made``), its results empty files that the pretended Slurm leaves."""
    names = tuple(nodes)
    pretended.states = pretended.states or {name: NodeState(name, "IDLE") for name in names}
    (pretended.results / "jobs").mkdir(exist_ok=True)
    made = made or planned(pretended.results, names, level="quick", deadline=1000.0 + 400 * 3600, **more)
    found = SweepLoop(made, pretended, pace=Pace(result_wait=5.0),  # type: ignore[arg-type]
                  clock=lambda: pretended.now, now=lambda: pretended.now, sleep=pretended.sleep)  # fmt: skip
    monkeypatch.setattr(sweep_file, "has_result", lambda _, job: job.name in pretended.results_seen)
    monkeypatch.setattr(sweep_file, "was_interrupted", lambda _, job: job.state == "PREEMPTED")
    return found


def most_within_a_minute(times: Sequence[float]) -> int:
    window: deque[float] = deque()
    most = 0
    for time in times:
        window.append(time)
        while window[0] <= time - 60:
            window.popleft()
        most = max(most, len(window))
    return most


def test_a_dozen_questions_a_minute_at_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """150 nodes; every 10th ends without a result, so that there is much to ask. A question is two RPCs."""
    names = [f"n{number}" for number in range(150)]
    pretended = PretendedSlurm(tmp_path, fate=dict.fromkeys(names[::10], "NODE_FAIL"))
    running = sweep(pretended, names, monkeypatch)
    running.run()
    jobs = running.sweep.jobs.values()
    assert sum(job.has_result for job in jobs) == 135 and all(job.ended for job in jobs)
    assert most_within_a_minute(pretended.asked) <= 12 and most_within_a_minute(pretended.asked[12:]) <= 9
    assert min(b - a for a, b in itertools.pairwise(pretended.submitted)) >= Pace.submit - 1e-6, "submissions are paced"


def test_lanes_hold_the_number_of_jobs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All jobs are submitted at once, so that nobody has to watch."""
    pretended = PretendedSlurm(tmp_path, length=20.0)
    running = sweep(pretended, [f"n{i}" for i in range(30)], monkeypatch, max_jobs=4)
    running.run(watch=False)
    starts = sorted(start for _, start in pretended.jobs.values())
    assert len(starts) == 30 and pretended.now < 1010
    assert max(sum(start <= at < start + 20 for start in starts) for at in starts) == 4
    assert not any(job.has_result for job in running.sweep.jobs.values())
    running.run()
    assert all(job.has_result for job in running.sweep.jobs.values()) and len(pretended.jobs) == 30


def test_a_limit_on_jobs_is_waited_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended = PretendedSlurm(tmp_path, length=5.0)
    running = sweep(pretended, ["n1", "n2", "n3"], monkeypatch)
    submit = pretended._submit

    def limited(command: Sequence[str]) -> str:
        if len(pretended.jobs) - len(pretended.results_seen) >= 2:
            raise CouldNotJudge(
                "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)"
            )
        return submit(command)

    monkeypatch.setattr(pretended, "_submit", limited)
    running.run()
    assert all(job.has_result for job in running.sweep.jobs.values())


def test_a_submission_that_may_have_been_taken_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sbatch's answer is lost, and the job is there all the same."""
    pretended = PretendedSlurm(tmp_path, length=5.0)
    running = sweep(pretended, ["n1", "n2"], monkeypatch)
    submit, lost = pretended._submit, [True]

    def taken_and_lost(command: Sequence[str]) -> str:
        said = submit(command)
        if lost.pop() if lost else False:
            raise CouldNotJudge("sbatch: Socket timed out on send/recv operation")
        return said

    monkeypatch.setattr(pretended, "_submit", taken_and_lost)
    running.run()
    assert [node for node, _ in pretended.jobs.values()] == ["n1", "n2"], "each once"
    assert all(job.has_result for job in running.sweep.jobs.values())


def test_a_controller_that_is_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretended = PretendedSlurm(tmp_path, away=(1010.0, 1400.0), fate={"n2": "NODE_FAIL"})
    running = sweep(pretended, ["n1", "n2"], monkeypatch)
    running.run()
    assert [job.has_result for job in running.sweep.jobs.values()] == [True, False]
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "does not answer" in said[0] and "answers again" in said[1], "told once each"


def test_a_resumed_sweep_takes_the_jobs_that_are_left(tmp_path: Path) -> None:
    """n1 runs and n2 waits in its lane; n3's job was cancelled; n4 was never submitted; of n5 a first attempt waits, and the second is
    due."""
    folder = tmp_path / "s"
    (folder / "nodes/n5/1").mkdir(parents=True)
    (folder / "nodes/n5/1/result.json").write_text('{"interrupted": true}')
    planned(folder, [f"n{number}" for number in range(1, 6)], cluster="c").save()
    jobs = {1: ("n1", 990.0), 2: ("n2", 2000.0), 3: ("n3", 0.0), 5: ("n5", 2000.0)}
    pretended = PretendedSlurm(tmp_path, jobs=jobs, cancelled={3})
    pretended.outputs = {number: f"{folder}/jobs/n{number}.1.out" for number in jobs}
    found = begin_or_resume.resume(tmp_path, "s", pretended)  # type: ignore[arg-type]
    assert {name: (job.attempt, job.job_id) for name, job in found.jobs.items()} == {
        "n1": (1, 1), "n2": (1, 2), "n3": (1, None), "n4": (1, None), "n5": (2, None),
    }  # fmt: skip


def test_a_sweep_of_another_cluster_is_not_resumed_here(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    planned(tmp_path / "s", ["n1"], cluster="theirs").save()
    with pytest.raises(NearfarError, match="is of cluster theirs, and this host's Slurm is c: continue it there"):
        begin_or_resume.resume(tmp_path, "s", PretendedSlurm(tmp_path))  # type: ignore[arg-type]


def test_a_controller_that_stays_away_is_waited_for_until_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretended = PretendedSlurm(tmp_path, length=9e9, away=(1010.0, 9e9))
    running = sweep(pretended, ["n1"], monkeypatch, planned(tmp_path, ["n1"], deadline=2000.0))
    with pytest.raises(NearfarError, match=r"connect failure.*; the sweep's deadline has come"):
        running.run()
    assert 2000 < pretended.now < 2100 and running.sweep.jobs["n1"].outstanding


def test_an_order_that_slurm_refuses_for_good_ends_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended = PretendedSlurm(tmp_path)
    running = sweep(pretended, ["n1"], monkeypatch)

    def refuse(command: Sequence[str]) -> str:
        raise CouldNotJudge(
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination"
        )

    monkeypatch.setattr(pretended, "_submit", refuse)
    with pytest.raises(NearfarError, match="Invalid account"):
        running.run()
    assert running.sweep.jobs["n1"].waiting


def test_a_directory_that_vanishes_while_jobs_are_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sbatch finds no script then; the sweep says that its directory is gone."""
    pretended = PretendedSlurm(tmp_path / "results")
    pretended.results.mkdir()
    running = sweep(pretended, ["n1"], monkeypatch)

    def refuse(command: Sequence[str]) -> str:
        pretended.results.rename(tmp_path / "elsewhere")
        raise CouldNotJudge("sbatch: error: Unable to open file job.sh")

    monkeypatch.setattr(pretended, "_submit", refuse)
    with pytest.raises(CouldNotJudge, match="is gone: it was moved or removed"):
        running.run()


def test_a_node_that_is_drained_while_its_job_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended = PretendedSlurm(tmp_path, fate={"n1": "blocked"})
    running = sweep(pretended, ["n1"], monkeypatch)
    drained = NodeState("n1", "IDLE", frozenset({"DRAIN"}), "bad fan", "alice")
    sleep = running.sleep

    def meanwhile(seconds: float) -> None:
        sleep(seconds)
        if pretended.now > 1030:
            pretended.states.update(n1=drained)

    running.sleep = meanwhile
    running.run()
    job = running.sweep.jobs["n1"]
    assert (job.state, job.reason, pretended.cancelled) == ("refused", "drained by alice: bad fan", {1})


def test_a_job_that_could_not_be_taken_back_is_taken_back_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """slurmctld does not answer at that moment, and the job never starts."""
    pretended = PretendedSlurm(tmp_path, fate={"n1": "blocked"})
    running = sweep(pretended, ["n1"], monkeypatch)
    call, lost = pretended.call, [True]

    def once(*command: str) -> str:
        if command[0] == "sbatch":
            pretended.states.update(n1=NodeState("n1", "IDLE", frozenset({"DRAIN"}), "bad fan", "alice"))
        if command[0] == "scancel" and lost:
            lost.pop()
            raise AWAY
        return call(*command)

    monkeypatch.setattr(pretended, "call", once)
    running.run()
    assert pretended.cancelled == {1} and pretended.now < 1200
    assert running.sweep.jobs["n1"].reason == "drained by alice: bad fan"


@pytest.mark.parametrize("at_night, left_out", [(False, {}), (True, {"n1": "PREEMPTED: Why"})])
def test_what_ended_a_job_early_is_slurms_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_night: bool, left_out: dict[str, str]
) -> None:
    """The result of what was measured until then is there before the job is gone."""
    pretended = PretendedSlurm(tmp_path, length=20.0, fate={"n1": "PREEMPTED"}, results_seen={"n1"})
    running = sweep(pretended, ["n1"], monkeypatch, idle_only=at_night)
    running.run()
    job = running.sweep.jobs["n1"]
    assert (job.state, job.reason, job.has_result, job.interrupted) == ("PREEMPTED", "Why", True, True)
    assert outcome.left_out(running.sweep) == left_out


def test_jobs_that_slurmctld_has_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cold start of slurmctld, or a partition that is gone: of one that ran, and of one that waited for it."""
    pretended = PretendedSlurm(tmp_path)
    loop = sweep(pretended, ("n1", "n2"), monkeypatch, max_jobs=1)
    line = pretended._line
    monkeypatch.setattr(pretended, "_line", lambda *about: line(*about) if pretended.now < 1100.0 else "")
    loop.run()
    said = [(job.state, job.reason) for job in loop.sweep.jobs.values()]
    assert said == [("RUNNING", "the job is gone"), ("PENDING", "the job is gone")]


def test_a_nightly_job_makes_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the night's jobs are queued n1 is taken by a user's job, and n2 drained; n3 is measured."""
    pretended = PretendedSlurm(tmp_path, length=5.0, fate={"n1": "blocked", "n2": "blocked"})
    running = sweep(pretended, ["n1", "n2", "n3"], monkeypatch, idle_only=True, max_jobs=1)
    drained = NodeState("n2", "IDLE", frozenset({"DRAIN"}), "bad fan", "alice")
    taken = {"n1": NodeState("n1", "ALLOCATED"), "n2": drained}
    submit = pretended._submit

    def one(command: Sequence[str]) -> str:
        pretended.states.update(taken)
        return submit(command)

    monkeypatch.setattr(pretended, "_submit", one)
    running.run()
    assert outcome.left_out(running.sweep) == {"n1": "busy: allocated", "n2": "busy: drained by alice: bad fan"}
    assert outcome.nightly_summary(running.sweep) == "1 of 3 nodes measured; not: 2 busy"
    assert pretended.cancelled == {1, 2}


@given(
    st.lists(
        st.sampled_from(["gpu:h100:8(S:0-1)", "gpu:4", "nvme:2", "shard:64(S:0)", "craynetwork:1:no_consume"]),
        unique=True,
    )
)
def test_all_gres_of_a_node_are_asked_for(listed: list[str]) -> None:
    """But shares of a GPU: who has the GPUs cannot have these too."""
    asked = slurm_jobs.gres(NodeState("n", "IDLE", fields={"Gres": ",".join(listed)}))
    kinds = [entry.split(":")[0] for entry in listed if not entry.startswith("shard")]
    assert [entry.split(":")[0] for entry in asked.split(",") if entry] == kinds
    assert "(" not in asked and "no_consume" not in asked


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_whatever_squeue_says_is_a_job_or_an_error(line: str) -> None:
    try:
        job = slurm_jobs._job(line)
    except CouldNotJudge:
        return
    assert isinstance(job, JobState) and str(job.job_id).isdigit()


def test_an_earlier_jobs_last_line_is_not_this_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep is resumed, and the job that has its turn now never starts."""
    running = sweep(PretendedSlurm(tmp_path, fate={"n1": "blocked"}), ["n1"], monkeypatch)
    (tmp_path / "jobs/n1.1.out").write_text("nearfar: no programs\n")
    running.run()
    (job,) = running.sweep.jobs.values()
    assert outcome.outcome(running.sweep, job).reason.startswith("job 1 never started: ")  # type: ignore[union-attr]
    (kept,) = (tmp_path / "jobs").iterdir()
    assert kept.read_text() == "nearfar: no programs\n"
