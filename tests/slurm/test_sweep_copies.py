"""Sweeps' directories that were copied, moved, restored or cut short: what was measured counts once, and in its own place."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.slurm.findings import gather
from nearfar.slurm.findings.gathering import TimeRange
from nearfar.slurm.sweep import SweepJob, begin_or_resume, found_again, sweep_file
from tests.support.node_results import leave
from tests.support.sweeping import planned

NOW = float(int(time.time()))
RUNS = [("n1", "00000001"), ("n2", "00000002")]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results directory with one sweep of two nodes."""
    folder = tmp_path / "results"
    for node, run in RUNS:
        leave(folder, node, run, at=NOW - 600, speed=27.0, sweep="s")
    planned(folder / "s", ["n1", "n2"]).save()
    return folder


def read(results: Path) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    found = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, TimeRange(0.0))
    return sorted((run.node, run.run) for run in found.runs), found.refused


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def one_second_later(copy: Path) -> None:
    changed(copy / "nodes/n1/1/result.json", started=_of(-29), ended=_of(1))


def _of(later: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - 600 + later))


@pytest.mark.parametrize("name", ["a-copy", "t"], ids=["read before it", "read after it"])
@pytest.mark.parametrize("how", ["alike", "one second", "half", "without sweep.json"])
def test_a_copy_does_not_void_the_original(results: Path, name: str, how: str) -> None:
    copy = results / name
    shutil.copytree(results / "s", copy)
    if how in ("one second", "without sweep.json"):
        one_second_later(copy)
    if how == "half":
        (copy / "nodes/n1/1/run.json").unlink()
        shutil.rmtree(copy / "nodes/n2")
    if how == "without sweep.json":
        (copy / "sweep.json").unlink()
    runs, refused = read(results)
    assert runs == RUNS
    told = (
        f"{copy}: holds copies of another sweep's results; those are not counted"
        if how == "without sweep.json"
        else f"{copy}: a copy of sweep s, which is beside it; not counted"
    )
    assert refused == (told,)


def test_two_that_both_say_that_they_are_the_original(results: Path) -> None:
    """One of them was made up, and nobody can tell which."""
    shutil.copytree(results / "s", results / "t")
    changed(results / "t/sweep.json", sweep="t")
    for node, _ in RUNS:
        changed(results / "t/nodes" / node / "1/result.json", sweep="t")
    one_second_later(results / "t")
    runs, refused = read(results)
    assert runs == [("n2", "00000002")]
    assert (
        len(refused) == 1 and "run 00000001 of node n1 is there twice, and not alike; neither is counted" in refused[0]
    )


def test_a_sweep_that_was_renamed_or_restored_counts(results: Path, tmp_path: Path) -> None:
    (results / "s").rename(results / "delivery")
    assert read(results) == (RUNS, ())
    shutil.copytree(results / "delivery", tmp_path / "backup")
    shutil.rmtree(results / "delivery")
    shutil.copytree(tmp_path / "backup", results / "s")  # with the times of the files, as backups have it
    assert read(results) == (RUNS, ())


def test_a_copy_is_not_resumed_and_what_was_renamed_is(results: Path) -> None:
    shutil.copytree(results / "s", results / "t")
    with pytest.raises(NearfarError, match="t: a copy of sweep s; --resume s continues that one"):
        begin_or_resume.resume(results, "t", NOW)
    shutil.rmtree(results / "s")
    assert all(job.has_result for job in begin_or_resume.resume(results, "t", NOW).jobs.values())


def test_two_names_of_one_place_are_no_copy(results: Path) -> None:
    (results / "latest").symlink_to("s")
    assert sweep_file.copies(results) == {}


def test_of_two_jobs_for_one_attempt_only_one_measures(results: Path) -> None:
    (results / "s/jobs").mkdir()
    job = SweepJob(("n3",))
    found_again.claim(results, "s", job, "7")
    found_again.claim(results, "s", job, "7")  # restarted by Slurm
    with pytest.raises(CouldNotJudge, match=r"n3\.1\.claim: job 7 has had this turn already; job 8 measured nothing"):
        found_again.claim(results, "s", job, "8")
    with pytest.raises(
        CouldNotJudge, match="nodes/n1/1: there is a result already; it is kept, and job 9 measured nothing"
    ):
        found_again.claim(results, "s", SweepJob(("n1",)), "9")
    found_again.claim(results, "by-hand", job, None)
    with pytest.raises(CouldNotJudge, match="gone/jobs: not there for this node; is its file system mounted here"):
        found_again.claim(results, "gone", job, "10")
    assert not (results / "gone").exists()


def test_a_sweep_that_is_being_begun_is_no_copy(results: Path) -> None:
    shutil.copytree(results / "s", results / ".begun")
    assert sweep_file.copies(results) == {} and read(results) == (RUNS, ())
