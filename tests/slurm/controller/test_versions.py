"""Versions of Slurm: how one is read, what differs, and which one the tests take."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge
from nearfar.slurm.controller import Slurm
from tests.support import private_slurm


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm-wlm 22.05.8\n", "22.05"), ("slurm 25.11.7", "25.11"), ("22.05", "22.05"), ("26.05.1", "26.05"),
        ("slurm", None), ("2.6", None), ("122.05", None), ("22.053", None), ("1.22.05", None),
    ],
)  # fmt: skip
def test_a_version_is_read(text: str, version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slurm, "call", lambda self, *command: text)
    if version is not None:
        assert Slurm({}).version() == version
        return
    with pytest.raises(CouldNotJudge, match="not a version"):
        Slurm({}).version()


def test_an_installation_that_lacks_a_program_is_no_reason_to_test_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in private_slurm.PROGRAMS[1:]:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("NEARFAR_TEST_SLURM", str(tmp_path))
    with pytest.raises(RuntimeError, match=f"NEARFAR_TEST_SLURM={tmp_path}: no slurmctld in its bin or sbin"):
        private_slurm.missing()
    assert private_slurm.search_path().startswith(f"{tmp_path}/bin:{tmp_path}/sbin:")
