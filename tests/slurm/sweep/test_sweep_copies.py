"""Sweeps' directories that were copied, moved, restored or cut short: what was measured counts once, and in its own place."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.slurm.sweep import SweepJob, slurm_jobs
from tests.support.node_results import leave
from tests.support.sweeping import planned
from tests.support.taking_in import take_in

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
    found = take_in(results, None, NOW)
    return sorted((run.node, run.run) for run in found.runs), tuple(found.refused)


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
    half = f"{copy}/nodes/n1/1/run.json: No such file or directory; an incomplete result is not counted"
    assert refused == ((half,) if how == "half" else ())


def test_two_that_both_say_that_they_are_the_original(results: Path) -> None:
    """One of them was made up: what was taken in first counts, and the other is named."""
    shutil.copytree(results / "s", results / "t")
    changed(results / "t/sweep.json", sweep="t")
    for node, _ in RUNS:
        changed(results / "t/nodes" / node / "1/result.json", sweep="t")
    one_second_later(results / "t")
    runs, refused = read(results)
    assert runs == RUNS
    assert len(refused) == 1 and "run 00000001 of node n1 is there twice, and not alike; the first counts" in refused[0]


def test_a_sweep_that_was_renamed_or_restored_counts(results: Path, tmp_path: Path) -> None:
    (results / "s").rename(results / "delivery")
    assert read(results) == (RUNS, ())
    shutil.copytree(results / "delivery", tmp_path / "backup")
    shutil.rmtree(results / "delivery")
    shutil.copytree(tmp_path / "backup", results / "s")  # with the times of the files, as backups have it
    assert read(results) == (RUNS, ())


def test_of_two_jobs_for_one_attempt_one_leaves_a_result(results: Path) -> None:
    (results / "s/jobs").mkdir()
    slurm_jobs.refuse_second(results, "s", SweepJob(("n3",)))
    with pytest.raises(
        CouldNotJudge, match="nodes/n1/1: there is a result already; it is kept, and this job measured nothing"
    ):
        slurm_jobs.refuse_second(results, "s", SweepJob(("n1",)))
    with pytest.raises(CouldNotJudge, match="gone/jobs: not there for this node; is its file system mounted here"):
        slurm_jobs.refuse_second(results, "gone", SweepJob(("n3",)))
    assert not (results / "gone").exists()


def test_a_sweep_that_was_renamed_counts_beside_the_next_of_its_name(results: Path) -> None:
    (results / "s").rename(results / "s-1")
    leave(results, "n1", "00000003", at=NOW - 60, sweep="s")
    planned(results / "s", ["n1"], started=NOW).save()
    assert read(results) == ([("n1", "00000001"), ("n1", "00000003"), ("n2", "00000002")], ())


def test_a_directory_that_has_only_the_name_of_a_sweep_hides_nothing(results: Path) -> None:
    (results / "s").rename(results / "s-1")
    (results / "s").mkdir()
    (results / "s/sweep.json").touch()
    assert read(results) == (RUNS, ())


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="leases are Linux'")
def test_a_file_that_somebody_holds_a_lease_on_is_not_waited_for(results: Path) -> None:
    """Whoever opens it waits for up to 45 seconds, else."""
    shutil.copytree(results / "s", results / "t")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(results / "s/sweep.json", "r+b") as held:
        fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        began = time.monotonic()
        assert read(results)[0] == RUNS
        assert time.monotonic() - began < 20
    signal.signal(signal.SIGIO, before)
