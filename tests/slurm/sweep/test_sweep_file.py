"""``sweep.json``: what is written is read back, and a file of another schema is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.slurm.sweep import SweepJob, SweepOptions, begin_or_resume
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


@pytest.mark.parametrize(
    "name, more, found",
    [
        (None, {}, "s"),
        (None, {"merged": True}, None),
        (None, {"command": ("nearfar", "slurm", "sweep", "--idle")}, None),
        (None, {"deadline": 1999.0}, None),
        ("s", {"merged": True}, "s"),
        ("other", {}, None),
    ],
)
def test_a_command_typed_again_goes_on_until_its_page_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None, more: dict[str, Any], found: str | None
) -> None:
    """Killed after the last job has ended, or among the pairs, it is not through; a later sweep of another command hides it not."""
    monkeypatch.setattr("sys.argv", ["nearfar", "slurm", "sweep", "-p", "all", "--no-wait"])
    for folder, command in (
        ("s", ("nearfar", "slurm", "sweep", "-p", "all")),
        ("later", ("nearfar", "slurm", "retest")),
    ):
        (tmp_path / folder).mkdir()
        job = SweepJob(("n1",), 1, 1, "COMPLETED", "", True, True)
        planned(tmp_path / folder, [job], **{"command": command, **(more if folder == "s" else {})}).save()
    assert begin_or_resume.unfinished(tmp_path, name, 2000.0) == found


def test_the_same_options_are_told_from_others(tmp_path: Path) -> None:
    kept = planned(tmp_path / "s", ["n1"], idle_only=True, left_out={"n2": "allocated"})
    asked = SweepOptions(partition="gpu", level="accept", max_jobs=32, idle_only=True)
    begin_or_resume.refuse_other_options(kept, asked, "n[1-2]")
    for other, nodes, named in (
        (asked, "n1", "(nodes)"),
        (replace(asked, level="quick", max_jobs=4), None, "(level, max_jobs)"),
    ):
        with pytest.raises(NearfarError) as told:
            begin_or_resume.refuse_other_options(kept, other, nodes)
        assert named in str(told.value) and "--resume s" in str(told.value)


def test_a_sweep_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    raw = json.loads(planned(tmp_path, ["n1"]).text)
    del raw["merged"]
    (tmp_path / "sweep.json").write_text(json.dumps(raw))
    assert list(load(tmp_path).jobs) == ["n1"]


@pytest.mark.parametrize("attempt", ["x", 1.5, True, 0, -1, None])
def test_an_attempt_that_is_no_number_of_one(tmp_path: Path, attempt: object) -> None:
    raw = json.loads(planned(tmp_path, ["n1"]).text)
    raw["jobs"][0]["attempt"] = attempt
    (tmp_path / "sweep.json").write_text(json.dumps(raw))
    with pytest.raises(CouldNotJudge, match="the file was changed"):
        load(tmp_path)
