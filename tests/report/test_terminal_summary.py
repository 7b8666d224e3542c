"""A run's summary in a terminal: columns that stand below each other, like beside like, the page's first sentence, a line to paste."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import cli, report
from nearfar.report import next_step, terminal
from nearfar.verdict import SIBLINGS_ONLY, run_directory
from tests.conftest import CHECKOUT
from tests.data.runs import golden, synthetic


def shown(folder: Path, width: int | None = 80, colour: bool = False, every: bool = False) -> list[str]:
    return terminal.summarise(run_directory.read(folder), colour, None, width, every).splitlines()


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """Four real H200s, one with half of its rate to the host."""
    return golden.write(tmp_path / "run", slow={"g2:n0": 0.5})


@pytest.mark.parametrize("name", synthetic.SCENARIOS)
def test_it_fits_a_terminal(tmp_path: Path, name: str) -> None:
    lines = shown(synthetic.SCENARIOS[name](tmp_path / "run"))
    assert len(lines) <= terminal.MOST_LINES
    # A path and a command stay whole, to be pasted.
    assert [line for line in lines if len(line) > 80 and not line.startswith(("page  ", "next  "))] == []


@pytest.mark.parametrize("name", synthetic.SCENARIOS)
def test_it_says_what_the_page_says_first(tmp_path: Path, name: str) -> None:
    folder = synthetic.SCENARIOS[name](tmp_path / "run")
    page = report.build(folder).read_text()
    first = re.search(r"<p>(.*?)</p>", page, re.S)
    assert first is not None
    sentence = html.unescape(re.sub("<[^>]*>", "", first[1])).strip()
    assert [line for line in report.summary(folder, colour=False).splitlines() if line.endswith(f"  {sentence}")]


def test_a_row_has_figures_of_one_kind_and_verdict(slow: Path) -> None:
    lines = shown(slow, None, every=True)
    start = next(line for line in lines if line.startswith("verdict")).index("figure")
    rows = [re.split(r" {2,}", line[start:]) for line in lines if " GB/s" in line[start:] and line[0] in "PFDn ("]
    figures = {row[0]: row[1:] for row in rows}
    assert figures["D2H: g2→n0"] == ["27.7 GB/s", "58.4", "47 %"], "not in one range with the three that are well"
    assert not any(kind.startswith("D2H of both") for kind in figures), "the sum is judged"
    assert figures["NV18 write"] == ["396.1–396.3 GB/s", "400.0", "99 %"]


def test_page_and_terminal_say_once_that_siblings_alone_judged(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run")
    lines = [line for line in shown(folder, None) if line.startswith("references  ")]
    assert len(lines) == 1 and "host_device, " in lines[0]
    codes = [f.code for check in run_directory.read(folder).nodes[0].checks for f in check.verdict.findings]
    assert codes.count(SIBLINGS_ONLY.code) > 1, "each check has its own"
    assert report.build(folder).read_text().count("<code>references</code>") == 1


def test_the_verdict_comes_first_and_no_figure_that_passed(slow: Path) -> None:
    lines = shown(slow, None)
    assert lines[0].startswith("FAIL  ") and not any("100 %" in line or "NV18" in line for line in lines)
    words = [line.split("  ")[0] for line in lines[1:] if re.match(r"(FAIL|DEGRADED|PASS|not judged) ", line)]
    assert words == ["FAIL", "DEGRADED", "not judged", "PASS"], "two figures, then one line for each verdict"


def test_checks_that_were_asked_for_show_their_figures(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run")
    assert not any(line.startswith("verdict ") for line in shown(folder, None))
    raw = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**raw, "command": ["nearfar", "validate", "--check", "peer_check"]}))
    assert shown(folder, None) == shown(folder, None, every=True)
    assert any("NV18 write" in line for line in shown(folder, None))


def test_columns_stand_below_each_other_with_colours_too(slow: Path) -> None:
    plain, painted = shown(slow), shown(slow, colour=True)
    assert [re.sub("\033\\[[0-9;]*m", "", line) for line in painted] == plain and painted != plain
    heading = next(line for line in plain if line.startswith("verdict"))
    for line in (line for line in plain if line.endswith("%")):
        assert len(line) == len(heading) or len(line) == heading.index("reference") + len("reference"), line


@pytest.mark.parametrize(
    "change, step",
    [
        ({}, "detect --site h200"),
        ({"system": "redwood"}, "history --system redwood"),
        ({"interrupted": True, "command": ["nearfar", "validate", "--quick"]}, "validate --quick"),
    ],
)
def test_the_last_line_is_a_command_that_there_is(tmp_path: Path, change: dict[str, object], step: str) -> None:
    folder = synthetic.healthy(tmp_path)
    run = run_directory.read(folder)
    run.raw.update(change)
    line = next_step.next_command(run)[0]
    assert line.endswith(step)
    words = shlex.split(line)
    words = words[words.index(step.split()[0]) :]
    cli.parser(words[0]).parse_args(words)


@pytest.mark.parametrize("words", [["--with", "spack"], ["--with=spack"]])
def test_a_run_whose_programs_came_by_spack_is_repeated_with_it(tmp_path: Path, words: list[str]) -> None:
    run = run_directory.read(synthetic.broken(tmp_path))
    run.raw["command"] = ["nearfar", "validate", *words, "--quick"]
    line = next_step.next_command(run)[0]
    assert f" validate {' '.join(words)} --system redwood --check " in line, line
    run.raw["command"] = ["nearfar", "validate"]
    assert "--with" not in next_step.next_command(run)[0]


def test_many_failed_checks_are_measured_again_by_one_short_command(tmp_path: Path) -> None:
    run = run_directory.read(synthetic.broken(tmp_path))
    run.raw["command"] = ["nearfar", "validate", "--acceptance", "--force-system"]
    many = [replace(run.nodes[0].checks[0], name=f"check{number}") for number in range(13)]
    failed = [replace(check, verdict=replace(check.verdict, verdict="FAIL")) for check in many if check.verdict]
    run = replace(run, nodes=(replace(run.nodes[0], checks=tuple(failed)),))
    run.raw.update(verdict="FAIL", acceptance={"accept_degraded": False}, missing_cases=[])
    command, why = next_step.next_command(run)
    assert command.endswith("validate --force-system --system redwood --acceptance"), command
    assert why == "after the repair: measures the whole node again"
    asked = [word for check in failed for word in ("--check", check.name)]
    run.raw["command"] = ["nearfar", "validate", *asked]
    assert next_step.next_command(run)[0].count("check") == 14, "what the user chose is measured again"


def test_a_locale_without_the_characters_is_no_traceback(tmp_path: Path) -> None:
    folder = synthetic.broken(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "nearfar", "report", "--summary", str(folder)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.isascii() and "host_device" in done.stdout
