"""``sweep.json``: what is written is read back, and a file of another schema is refused."""

from __future__ import annotations

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
