"""Where OSU's programs are looked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearfar.mpi.osu import installed


def test_a_directory_on_the_path_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root's directories are for others (``su`` keeps root's PATH): to root nothing is closed, so ``stat`` is made to refuse."""
    closed, open_ = tmp_path / "closed", tmp_path / "open"
    for folder in (closed, open_):
        folder.mkdir()
    program = open_ / "osu_latency"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    real = Path.stat

    def stat(self: Path, **words: Any) -> Any:
        if self.is_relative_to(closed):
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, **words)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.delenv("NEARFAR_OSU", raising=False)
    monkeypatch.setenv("PATH", f"{closed}:{open_}")
    assert installed.find("osu_latency", "pt2pt") == program
