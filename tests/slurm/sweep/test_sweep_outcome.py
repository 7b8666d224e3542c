"""A sweep merged: each node has one verdict, and a result that is not believed is told and counts as none."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import history
from nearfar.base import Finding
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.site.systems import Partition, System, within_job
from nearfar.slurm.results import publish_result, result
from nearfar.slurm.results.result import RunInfo
from nearfar.slurm.sweep import begin_or_resume, merge, outcome, slurm_jobs
from nearfar.slurm.sweep.sweep_file import Sweep, SweepJob
from tests.data.runs import synthetic
from tests.support.sweeping import planned


def info(node: str, host: str) -> RunInfo:
    started, ended = "2026-11-20T09:00:00Z", "2026-11-20T09:01:00Z"
    return RunInfo(nodes=(node,), hostname=host, level="accept", sweep="s", started=started, ended=ended)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A sweep that is through: n1 is healthy, n2 is broken, n3's job died."""
    jobs = [SweepJob((node,), 1, i, "COMPLETED", "", True, True) for i, node in enumerate(("n1", "n2"), 1)]
    made = planned(tmp_path / "s", [*jobs, SweepJob(("n3",), 1, 3, "NODE_FAIL", "NodeDown", True, False)])
    for node, scenario in (("n1", "healthy"), ("n2", "broken")):
        run = synthetic.SCENARIOS[scenario](tmp_path / f"run-{node}")
        host = json.loads((run / "run.json").read_text())["hostname"]
        publish_result.leave(run, result.place(tmp_path, "s", node, 1), info(node, host))
    made.save()
    return made


def verdicts(found: merge.Merged) -> dict[str, str]:
    return {one.name: one.verdict for one in found.outcomes}


def test_one_verdict_for_each_node_worst_first(sweep: Sweep, tmp_path: Path) -> None:
    found = merge.merge(sweep)
    assert list(verdicts(found).items()) == [("n2", "FAIL"), ("n3", "INDETERMINATE"), ("n1", "PASS")]
    assert (found.verdict, found.exit_code) == ("FAIL", 1)
    assert found.outcomes[1].reason == "job 3 left no result: NODE_FAIL (NodeDown)"
    report = json.loads((sweep.folder / "sweep-report.json").read_text())
    assert report["counts"] == {"FAIL": 1, "INDETERMINATE": 1, "DEGRADED": 0, "PASS": 1}
    assert "nodes/n2/1/index.html" in found.page.read_text()


def test_a_finding_of_the_fleet_is_of_no_node(sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = (
        Finding("fleet", "DEGRADED", "driver 590: H2D −1.5 %"),
        Finding("fleet", "not judged", "CUDA 13.1: nothing moved"),
    )
    monkeypatch.setattr(merge, "fleet_findings", lambda found: told)
    found = merge.merge(sweep)
    assert found.verdict == "FAIL", "the worst of all"
    for name in ("n2", "n3"):
        del sweep.jobs[name]
    well = merge.merge(sweep)
    assert (well.verdict, well.exit_code, verdicts(well)) == ("DEGRADED", 1, {"n1": "PASS"})
    assert replace(well, sweep=replace(sweep, level="nightly")).exit_code == 0
    lines = well.summary().splitlines()
    assert lines[:2] == ["DEGRADED: 1 node: 1 PASS", "  DEGRADED      the fleet: driver 590: H2D −1.5 %"]
    assert "the fleet: CUDA 13.1: nothing moved" in lines
    report = json.loads((sweep.folder / "sweep-report.json").read_text())
    assert report["fleet"] == [{"verdict": each.verdict, "reason": each.reason} for each in told]
    assert [node["verdict"] for node in report["nodes"]] == ["PASS"]
    page = well.page.read_text()
    assert "<title>DEGRADED" in page and "driver 590: H2D −1.5 %" in page


def test_a_history_that_cannot_be_asked_is_a_note(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    assert merge.merge(sweep).fleet == (), "there is none"
    system = merge.merge(sweep).outcomes[0].result.system  # type: ignore[union-attr]
    (tmp_path / "history/rows-1" / f"system={system}" / "month=2026-11").mkdir(parents=True)

    def broken(*_: object) -> None:
        raise CouldNotJudge("the disk is gone")

    monkeypatch.setattr(history.fleet_findings, "report", broken)
    found = merge.merge(sweep)
    assert [(each.verdict, each.code) for each in found.fleet] == [("not judged", "software.unreadable")]
    assert found.fleet[0].fields == {"error": "the disk is gone"} and found.fleet[0].reason in found.notes[0]


def test_what_a_job_said_last_is_told(sweep: Sweep, tmp_path: Path) -> None:
    path = slurm_jobs.output(sweep.folder, sweep.jobs["n3"])
    path.parent.mkdir()
    path.write_text("nearfar: quick_check ...\nslurmstepd: error: *** JOB 3 ON n3 CANCELLED ***\n\n")
    (one,) = [one for one in merge.merge(sweep).outcomes if one.name == "n3"]
    assert one.reason is not None and one.reason.endswith(
        "; its last line: slurmstepd: error: *** JOB 3 ON n3 CANCELLED ***"
    )


def test_a_warning_of_the_sites_files_is_no_last_word(tmp_path: Path) -> None:
    said = tmp_path / "n3.out"
    said.write_text("nearfar: mine.yaml:1: warning: provenance: tuned: no stamp\n")
    assert slurm_jobs.last_line(said) == ""
    said.write_text("nearfar: peer_check ...\nnearfar: mine.yaml:1: warning: provenance: tuned: no stamp\n")
    assert slurm_jobs.last_line(said) == "nearfar: peer_check ..."


def test_whatever_the_umask_results_are_believed(tmp_path: Path) -> None:
    """Many sites have every user's files writable by a group of the user's own."""
    before = os.umask(0o002)
    try:
        results = tmp_path / "shared" / "results"
        with begin_or_resume.lock(results):
            made = begin_or_resume.begin(planned(results / "s", ["n1"]))
        run = synthetic.SCENARIOS["healthy"](tmp_path / "run")
        host = json.loads((run / "run.json").read_text())["hostname"]
        publish_result.leave(run, result.place(results, "s", "n1", 1), info("n1", host))
        assert verdicts(merge.merge(made)) == {"n1": "PASS"}
    finally:
        os.umask(before)


def test_a_results_directory_of_everybody_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    with pytest.raises(CouldNotJudge, match=r"mode 0775\): results there could be forged; chmod go-w"):
        with begin_or_resume.lock(tmp_path):
            pass


HARM: dict[str, tuple[Callable[[Path], object], str]] = {
    "half": (lambda place: os.truncate(place / "result.json", 300), "not a whole JSON document"),
    "forged": (lambda place: place.chmod(0o777), "other users can write to it"),
    "empty": (lambda place: os.truncate(next(place.glob("*/*/verdict.json")), 0), "an incomplete result is not counted"),
}  # fmt: skip


@pytest.mark.parametrize("how", HARM)
def test_a_result_that_is_not_believed_is_none(sweep: Sweep, tmp_path: Path, how: str) -> None:
    harm, words = HARM[how]
    harm(result.place(tmp_path, "s", "n1", 1))
    found = merge.merge(sweep)
    assert verdicts(found)["n1"] == "INDETERMINATE"
    assert any(words in (one.reason or "") for one in found.outcomes if one.name == "n1")
    assert words in found.page.read_text()


def test_another_nodes_result_in_its_place(sweep: Sweep, tmp_path: Path) -> None:
    """The same run twice: of the node that has lent it, and of no other."""
    shutil.copytree(result.place(tmp_path, "s", "n1", 1), result.place(tmp_path, "s", "n3", 1))
    found = merge.merge(sweep)
    assert (verdicts(found)["n1"], verdicts(found)["n3"]) == ("PASS", "INDETERMINATE")
    assert "of node n1, in the place of n3" in found.page.read_text()


def test_an_earlier_attempt_counts_where_the_last_left_nothing(sweep: Sweep, tmp_path: Path) -> None:
    sweep.jobs["n1"].attempt = 2
    assert verdicts(merge.merge(sweep))["n1"] == "PASS"


def system(**partitions: Partition) -> System:
    return System("s", partitions)


@pytest.mark.parametrize("options", [["-p gpu"], ["-pgpu"], ["--partition=gpu,other"], ["--partition gpu"]])
def test_the_sites_partition_is_the_one_that_asks_slurm_for_it(options: list[str]) -> None:
    one, two = Partition("a", reframe={"access": options}), Partition("b", reframe={"access": ["-p cpu"]})
    assert system(a=one, b=two).partition_of("gpu") == "a"


def test_the_sites_partition_by_name_or_because_it_is_the_only_one() -> None:
    model = Partition("m", features=("modelled",))
    assert system(a=Partition("a"), gpu=Partition("gpu")).partition_of("gpu") == "gpu"
    assert system(a=Partition("a"), m=model).partition_of("gpu") == "a"
    with pytest.raises(NearfarError, match="add access: "):
        system(a=Partition("a"), b=Partition("b")).partition_of("gpu")
    with pytest.raises(NearfarError, match="modelled partitions alone"):
        system(m=model).partition_of("gpu")


def test_a_job_sees_its_partition_alone_with_the_local_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Partition("gpu", scheduler="slurm", launcher="srun", features=("mpi", "two_nodes"))
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    here = within_job(system(gpu=gpu, cpu=Partition("cpu")), "gpu").partitions
    assert list(here) == ["gpu"] and (here["gpu"].scheduler, here["gpu"].launcher) == ("local", "local")
    assert here["gpu"].features == ("mpi",), "what takes two nodes is not asked of one"
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert within_job(system(gpu=gpu), "gpu").partitions["gpu"].features == ("mpi", "two_nodes")
    with pytest.raises(NearfarError, match="did you mean 'gpu'"):
        within_job(system(gpu=gpu), "gpus")


def test_a_night_counts_as_measured_what_was_not_ended_early() -> None:
    """Neither what left nothing nor what left half of it."""
    jobs = [SweepJob(("n1",), 1, 1, "COMPLETED", "", True, True), SweepJob(("n2",), 1, 2, "PREEMPTED", "", True, False),
            SweepJob(("n3",), 1, 3, "PREEMPTED", "", True, True, interrupted=True),
            SweepJob(("n5",), 1, 5, "CANCELLED", "", True, True, interrupted=True)]  # fmt: skip
    said = outcome.nightly_summary(planned(Path("s"), jobs, idle_only=True, left_out={"n4": "allocated"}))
    assert said == "1 of 5 nodes measured; not: 2 PREEMPTED, 1 allocated"
    assert outcome.nightly_summary(planned(Path("s"), jobs[:1], idle_only=True)) == "1 of 1 node measured"
