"""``sweep.json``: what is written is read back, and a file of another schema is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.slurm.sweep.sweep_file import load
from tests.support.sweeping import planned


def test_a_sweep_of_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"schema": "nearfar-sweep/2"}')
    with pytest.raises(CouldNotJudge, match="found nearfar-sweep/2"):
        load(tmp_path)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    made = planned(
        tmp_path / "s", ["n1", "n2"], options=("--qos=low",), gres={"n1": "gpu:2"}, left_out={"n3": "drained"}
    )
    made.save()
    found = load(tmp_path / "s")
    assert {**vars(found), "jobs": None} == {**vars(made), "jobs": None}
    assert [vars(job) for job in found.jobs.values()] == [vars(job) for job in made.jobs.values()]


def test_a_sweep_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    raw = json.loads(planned(tmp_path, ["n1"]).text)
    del raw["merged"]
    (tmp_path / "sweep.json").write_text(json.dumps(raw))
    assert list(load(tmp_path).jobs) == ["n1"]


def test_a_node_stands_as_its_results_have_it(tmp_path: Path) -> None:
    """n1 has a whole result, n2 an interrupted one, n3 none, n4 a directory that lacks it."""
    planned(tmp_path, ["n1", "n2", "n3", "n4"]).save()
    for place, interrupted in (("n1/1", True), ("n1/2", False), ("n2/1", True)):
        (tmp_path / "nodes" / place).mkdir(parents=True)
        (tmp_path / "nodes" / place / "result.json").write_text(json.dumps({"interrupted": interrupted}))
    (tmp_path / "nodes/n4/1").mkdir(parents=True)
    found = {name: (job.attempt, job.waiting) for name, job in load(tmp_path).jobs.items()}
    assert found == {"n1": (2, False), "n2": (2, True), "n3": (1, True), "n4": (2, True)}
