"""``act: on_event`` of a system file: what is taken, and what lint reports of a program that ``act`` would not run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import SiteFile
from nearfar.cli import main
from nearfar.site import drain_policy, program_problem

SYSTEM = "system: mine\nact:\n  {line}\npartitions:\n  - name: gpu\n    node_type: h200-x4-vm\n"


def written(folder: Path, line: str) -> Path:
    path = folder / "systems" / "mine.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SYSTEM.replace("{line}", line))
    return path


def program(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "on_event: /etc/nearfar/on-event")
    assert drain_policy.of_system(SiteFile(path)).on_event == "/etc/nearfar/on-event"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("on_evnt: /bin/true", "on_evnt"),
        ("hooks: {on-drain: /bin/true}", "hooks"),
        ("on_event: bin/true", "expected an absolute path of a program"),
        ("on_event: /etc/", "expected an absolute path of a program"),
    ],
)
def test_a_slip_is_told_with_its_line(tmp_path: Path, capsys: Any, line: str, words: str) -> None:
    path = written(tmp_path, line)
    assert main(["lint", str(path)]) == 2
    said = capsys.readouterr().out
    assert f"{path}:3: error" in said and words in said


def test_lint_warns_of_a_program_that_would_not_be_run(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    path = written(tmp_path, f"on_event: {tmp_path}/hook")
    main(["lint", str(path)])
    said = capsys.readouterr().out
    assert f"{path}:3: warning: act: on_event: {tmp_path}/hook: No such file or directory; write it" in said
    program(tmp_path / "hook")
    main(["lint", str(path)])
    assert "on_event" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "words"), [(0o644, "not executable"), (0o775, "other users can write to it"), (0o757, "other users can")]
)
def test_a_file_that_may_not_be_run(tmp_path: Path, mode: int, words: str) -> None:
    problem = program_problem(str(program(tmp_path / "hook", mode)), {0, os.geteuid()})
    assert words in str(problem)


def test_a_file_whose_place_another_can_take(tmp_path: Path) -> None:
    users = {0, os.geteuid()}
    folder = tmp_path / "open"
    folder.mkdir()
    hook = str(program(folder / "hook"))
    folder.chmod(0o777)
    assert "other users can write to it (mode 0777)" in str(program_problem(hook, users))
    folder.chmod(0o1777)
    assert program_problem(hook, users) is None, "a sticky directory keeps others from it"
    link = tmp_path / "link"
    link.symlink_to(hook)
    assert program_problem(str(link), users) is None
    folder.chmod(0o777)
    assert "open: other users can write to it" in str(program_problem(str(link), users))
    if os.geteuid() == 0:
        folder.chmod(0o755)
        os.chown(hook, 1234, -1)
        assert "belongs to user 1234" in str(program_problem(str(link), users))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert program_problem(str(loop), users) is not None
