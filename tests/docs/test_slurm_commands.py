"""What the manual tells to type exists: every ``nearfar slurm …`` is a command, with options that it has."""

from __future__ import annotations

import contextlib
import io
import re
from functools import cache
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.commands.slurm import COMMANDS
from tests.conftest import CHECKOUT


@pytest.mark.parametrize(
    "page", [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_slurm_commands_and_options_exist(page: Path) -> None:
    for command, words in re.findall(
        r"nearfar slurm ([a-z-]+)((?:(?!nearfar)[^`\n|])*)", page.read_text(encoding="utf-8")
    ):
        assert command in COMMANDS, f"{page}: nearfar slurm {command}"
        for option in re.findall(r" (--[a-z][a-z-]+)", words.partition("#")[0]):
            assert option in _help(command), f"{page}: nearfar slurm {command} {option}"


@cache
def _help(command: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.parser("slurm").parse_args(["slurm", command, "--help"])
    return out.getvalue()
