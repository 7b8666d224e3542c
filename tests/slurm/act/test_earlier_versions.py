"""What earlier versions wrote and submitted is still taken: ``sweep.json``, and the old names of options."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base.errors import CouldNotJudge
from nearfar.commands.slurm import nightly, node, renamed, retest, sweep
from nearfar.slurm.results import Pair
from nearfar.slurm.sweep import begin_or_resume
from nearfar.slurm.sweep.sweep_file import load
from tests.support.sweeping import planned

PLAN = {
    "schema": "nearfar-sweep/1", "sweep": "pairs-1", "pack": "mpi-pair", "partition": "gpu", "nodes": ["n1+n2"],
    "gres": {"n1+n2": "gpu:4"}, "minutes": 60, "window": 8, "started": 1.0, "deadline": 2.0, "reservation": None,
    "site_partition": None, "options": ["--qos=low"], "environment": {"A": "b"}, "command": ["nearfar"], "idle_only": False,
    "left_out": {}, "part_of": "s", "mpi_pairs": True,
}  # fmt: skip
TASK = {
    "node": "n1+n2", "attempt": 2, "job": 7, "state": "RUNNING", "reason": "", "ended": False, "has_result": False, "interrupted": False,
    "pair": ["n1", "n2"],
}  # fmt: skip


def written(folder: Path, **changes: Any) -> Path:
    folder.mkdir()
    (folder / "sweep.json").write_text(json.dumps({**PLAN, **changes}))
    return folder


def test_a_sweep_of_an_earlier_version(tmp_path: Path) -> None:
    found = load(written(tmp_path / "pairs-1", tasks=[TASK]))
    assert (found.name, found.level, found.max_jobs, found.options) == ("pairs-1", "mpi-pair", 8, ("--qos=low",))
    job = found.jobs["n1+n2"]
    assert (job.nodes, Pair(*job.nodes).other, job.attempt, job.job_id) == (("n1", "n2"), "n2", 2, 7)
    assert found.gres == {"n1": "gpu:4"} and found.job_name == "nearfar-s.pairs-1"
    alone = load(written(tmp_path / "s", sweep="s", tasks=[{**TASK, "node": "n3", "pair": []}], gres={"n3": "gpu:1"}))
    assert list(alone.jobs) == ["n3"] and alone.jobs["n3"].nodes == ("n3",)
    again = begin_or_resume.resume(tmp_path, "s", 1.0)
    assert again.resumed and again.jobs["n3"].outstanding and again.cluster == "", "of any cluster"


def test_a_sweep_of_a_later_version(tmp_path: Path) -> None:
    with pytest.raises(CouldNotJudge, match="found nearfar-sweep/2; this file is not a sweep's, or of a later version"):
        load(written(tmp_path / "s", schema="nearfar-sweep/2"))


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    made = planned(
        tmp_path / "s", ["n1", "n2"], options=("--qos=low",), gres={"n1": "gpu:2"}, left_out={"n3": "drained"}
    )
    made.save()
    raw = json.loads((tmp_path / "s/sweep.json").read_text())
    assert {"level", "max_jobs", "jobs"} <= raw.keys() and not {"pack", "window", "tasks", "folder"} & raw.keys()
    found = load(tmp_path / "s")
    assert {**vars(found), "jobs": None} == {**vars(made), "jobs": None}
    assert [vars(job) for job in found.jobs.values()] == [vars(job) for job in made.jobs.values()]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (sweep, ["--partition=p", "--pack=quick", "--window=4", "--settle=3"]),
        (nightly, ["--partition=p", "--pack=quick", "--window=4", "--settle=3"]),
        (node, ["--results=r", "--sweep=s", "--node=n1", "--pack=quick"]),
        (retest, ["n1", "--pack=quick"]),
    ],
)
def test_the_old_names_of_options_are_taken_and_not_shown(command: Any, words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert vars(parser.parse_args(words)) == vars(parser.parse_args(list(map(renamed.today, words))))
    assert parser.parse_args(words).level == "quick"
    shown = parser.format_help()
    assert not [old for old in renamed.OPTIONS if old in shown], shown


def test_the_old_name_of_a_command_is_taken_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["slurm", "nightli"], ["slurm", "--help"]):
        with pytest.raises(SystemExit):
            cli.main(words)
        captured = capsys.readouterr()
        assert "sweep" in captured.out + captured.err and "nightly'" not in captured.out + captured.err
        assert "nightly," not in captured.out
    with pytest.raises(SystemExit) as ended:
        cli.main(["slurm", "nightly", "--help"])
    assert ended.value.code == 0 and "usage: nearfar slurm nightly" in capsys.readouterr().out
