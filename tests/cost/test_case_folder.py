"""The folder that a program runs in: a copy for each run, made ready before, with a file that is read beside the output."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from nearfar import cost
from nearfar.base import CouldNotJudge, NearfarError
from tests.commands.test_cost_command import ask
from tests.cost import fakes

__all__ = ["ask"]

#: A program that appends to a file of its folder, as hpcc does, and says how much was there before.
APPENDS = """#!/bin/sh
[ -e result ] && echo "left behind by another run"
echo "checks: $(cat made)" >> result
echo "rate: 4" >> result
case $1 in broken) echo FAILED ;; *) echo PASSED ;; esac
"""
FILE = """application: appends
description: a stand-in that writes its figure into a file
get: it is made by this test
prepare: [cp input made]
run:
  command: [appends]
  schemes: [right, wrong]
  fom: '^rate: (\\S+)'
  expect: '^PASSED'
  same: '^checks: (.*)'
  read: result
  warm_up: 0
  runs: 2
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site directory with the application and its input, and the program on the PATH."""
    folder = tmp_path / "site" / "applications"
    (folder / "appends").mkdir(parents=True)
    (folder / "appends.yaml").write_text(FILE)
    (folder / "appends" / "input").write_text("42\n")
    program = tmp_path / "bin" / "appends"
    program.parent.mkdir()
    program.write_text(APPENDS)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return folder


def test_an_application_runs_in_copies_of_its_folder(ask: Any, there: Path) -> None:
    code, out, err = ask("--application", "appends", "--json", program=[])
    found = json.loads(out)
    assert code == 3, err  # two pairs settle nothing
    runs = [run for each in found["schemes"] for run in each["runs"]]
    assert len(runs) == 4 and all(run["value"] == 4 and run["problem"] is None for run in runs)
    assert {run["answer"] for run in runs} == {"42"} and found["expect"] == "^PASSED"
    assert sorted(path.name for path in (there / "appends").iterdir()) == ["input"]  # the site's folder is as it was


@pytest.mark.parametrize("before", [True, False])
def test_what_the_command_line_says_counts_before_and_behind(ask: Any, there: Path, before: bool) -> None:
    own = ("--runs", "1", "--schemes", "right,wrong,default")
    named = ("--application", "appends")
    _, out, _ = ask(*own, *named, "--json", program=[]) if before else ask(*named, *own, "--json", program=[])
    found = json.loads(out)
    assert found["plan"]["runs"] == 1 and [each["name"] for each in found["schemes"]] == ["right", "wrong", "default"]


def test_a_program_behind_it_takes_the_place_of_its_command(ask: Any, there: Path) -> None:
    _, out, _ = ask("--application", "appends", program=["appends", "broken"])
    assert "right, which the other schemes are compared with, '^PASSED' is not in its output (--expect)" in out


def test_it_is_said_how_a_program_that_is_not_there_is_got(ask: Any, there: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "appends").unlink()
    code, out, err = ask("--application", "appends", program=[])
    assert (code, out) == (2, "")
    assert err == "nearfar: appends: no such program, or it may not be executed; it is made by this test\n"


@pytest.mark.parametrize(
    "prepare, kind, words",
    [
        ("false", CouldNotJudge, "'false': ended with exit code 1"),
        ("sh -c 'echo no such file; exit 7'", CouldNotJudge, "ended with exit code 7: no such file"),
        ("no-such-program-here", CouldNotJudge, "no-such-program-here"),
        ("cp 'x", NearfarError, "No closing quotation"),
        ("", NearfarError, "an empty command"),
    ],
)
def test_what_makes_it_ready_and_fails(tmp_path: Path, prepare: str, kind: type[NearfarError], words: str) -> None:
    with pytest.raises(kind) as refused:
        cost.made_ready(None, [prepare], None, tmp_path)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("read", ["/etc/passwd", "../x"])
def test_a_file_of_its_own_folder_alone_is_read(tmp_path: Path, read: str) -> None:
    with pytest.raises(NearfarError, match="in the folder that the program runs in"):
        cost.made_ready(None, [], read, tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match=r"--inputs .*: no such folder"):
        cost.made_ready(tmp_path / "none", [], None, tmp_path)


def test_without_any_it_runs_where_nearfar_is(tmp_path: Path) -> None:
    assert cost.made_ready(None, [], None, tmp_path) == cost.CaseFolder()


def test_the_fakes_are_the_same_every_time(tmp_path: Path) -> None:
    values = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        words = fakes.program(tmp_path / folder)
        runner = cost.Runner(words, cost.launcher("none", Path("x"), 1, (), oversubscribe=False), tmp_path / folder)
        values.append([runner.run(cost.Scheme("default", 1), 30.0).output for _ in range(2)])
    assert values[0] == values[1] and values[0][0] != values[0][1]
