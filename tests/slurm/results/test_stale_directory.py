"""What a stale NFS handle hides is not known: no reader takes it for nothing."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import EXIT_COULD_NOT_JUDGE, CouldNotJudge
from nearfar.slurm.results import results_directory
from nearfar.slurm.trust import own
from tests.support.node_results import leave


@pytest.mark.parametrize("stale", ["s-00000001", "s-00000001/nodes"])
@pytest.mark.parametrize("error", [errno.ESTALE, errno.EIO, errno.EACCES])
def test_a_stale_sweep_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stale: str, error: int) -> None:
    results = tmp_path / "results"
    leave(results, "n1", "00000001", at=1.8e9)
    leave(results, "n1", "00000002", at=1.8e9)
    lstat = os.lstat

    def failing(path: Any, *more: Any, **words: Any) -> os.stat_result:
        if str(path) == f"{results}/{stale}":
            raise OSError(error, os.strerror(error), str(path))
        return lstat(path, *more, **words)

    monkeypatch.setattr(os, "lstat", failing)
    if error == errno.EACCES and stale.endswith("nodes"):  # closed to this user: one line, and the others count
        names, (refused,) = results_directory.sweeps(results, own(results))
        assert names == ["s-00000002"] and f"{results}/s-00000001: cannot be entered" in str(refused)
        return
    with pytest.raises(CouldNotJudge, match=re.escape(f"{results}/{stale}: cannot be read: ")) as told:
        results_directory.sweeps(results, own(results))
    assert told.value.exit_code == EXIT_COULD_NOT_JUDGE


def test_a_sweep_that_is_removed_meanwhile_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_directory, "names", lambda *_: ["gone"])
    assert results_directory.sweeps(tmp_path, own(tmp_path)) == ([], [])
