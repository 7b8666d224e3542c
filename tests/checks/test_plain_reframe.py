"""The checks by ReFrame's own commands: a dry run, tags, modes, and the word that tells a modelled case from a measured one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.question import ACCEPT, LEVELS, NIGHTLY, QUICK, questions
from tests.conftest import CHECKOUT


@pytest.fixture
def reframe(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    environment = {**os.environ, "NEARFAR_STATE": str(tmp_path), "NEARFAR_SYSTEM": "keeneland", "NO_COLOR": "1"}
    words = [
        sys.executable,
        "-m",
        "reframe.frontend.cli",
        "-C",
        "reframe_config.py",
        f"--prefix={tmp_path}",
        "--nocolor",
    ]
    program = Path(sys.executable).with_name("reframe")
    return ([str(program), *words[3:]] if program.exists() else words), environment


def said(reframe: tuple[list[str], dict[str, str]], *words: str) -> str:
    command, environment = reframe
    done = subprocess.run([*command, *words], env=environment, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_dry_run_passes_and_shows_what_is_modelled(reframe: tuple[list[str], dict[str, str]]) -> None:
    output = said(reframe, "-c", "checks", "--dry-run")
    cases = re.findall(r"OK \] .* (host_device_check|topology_check) \S+ @(\S+)", output)
    assert sorted(cases) == [
        ("host_device_check", "keeneland:gpu+modelled"),
        ("topology_check", "keeneland:gpu+modelled"),
    ]


def test_a_modelled_case_says_that_nothing_was_measured(reframe: tuple[list[str], dict[str, str]]) -> None:
    output = said(reframe, "-c", "checks", "-n", "^topology_check$", "-r")
    assert re.search(r"OK \] .*topology_check", output)
    assert "topology_check: MODELLED (keeneland node): nothing was measured" in output


def test_tags_are_levels_and_questions(reframe: tuple[list[str], dict[str, str]]) -> None:
    output = said(reframe, "-c", "checks", "--list-tags")
    suites = {"production", "maintenance", "acceptance"}
    assert {ACCEPT, NIGHTLY, "peer", "topology", *suites} <= set(re.findall(r"'(\w+)'", output))


@pytest.mark.parametrize("level", LEVELS)
def test_a_mode_for_each_level(reframe: tuple[list[str], dict[str, str]], level: str) -> None:
    listed = set(re.findall(r"^- (\w+)", said(reframe, f"--mode={level}", "--list"), re.M))
    assert listed and listed <= {each.name for each in questions() if level in each.levels}
    assert (level == QUICK) == ("quick_check" in listed)
