"""One more file of nearfar/question is one more check: in the list, a run, its page, the levels, lint, and under ReFrame."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar.base.files import CHECKOUT
from tests.checks.test_checks import programs
from tests.run.test_validation import command, run_json, validate

GUIDE = CHECKOUT / "docs/guide/add-a-check.md"
NAME = "one_way_check"


def guides_file() -> str:
    """The file that the guide shows."""
    blocks = re.split(r"\n(?! {4}|\n)", GUIDE.read_text(encoding="utf-8"))
    (block,) = [block for block in blocks if "QUESTION = Question(" in block and NAME in block]
    lines = [line[4:] for line in block.splitlines() if line.startswith("    ") or not line.strip()]
    return "\n".join(lines).strip() + "\n"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the pack with the guide's file."""
    copy = tmp_path / "checkout"
    for folder in ("nearfar", "checks", "site"):
        shutil.copytree(CHECKOUT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "reframe_config.py", copy)
    programs(tmp_path / "bin")
    (copy / f"nearfar/question/{NAME}.py").write_text(guides_file(), encoding="utf-8")
    return copy


def told(pack: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a Python in the copy says."""
    env = command(pack)[1]
    return subprocess.run([sys.executable, *words], cwd=pack, env=env, capture_output=True, text=True, timeout=120)


def test_the_guides_file_has_ten_lines() -> None:
    assert len([line for line in guides_file().splitlines() if line.strip()]) == 10


def test_it_is_listed_run_and_on_the_page(pack: Path) -> None:
    listed = validate(pack, "--system", "keeneland", "--list").stdout
    assert f"{NAME} @keeneland:" in listed
    done = validate(pack, "--system", "keeneland", "--check", NAME, "topology_check")
    assert done.returncode == 0, done.stdout + done.stderr
    run = run_json(pack)
    for cases in ("expected_cases", "ran_cases"):
        assert sorted(case["check"] for case in run[cases]) == [NAME, "topology_check"], cases
    assert run["missing_cases"] == []
    latest = pack.parent / "state/reports/latest"
    page = (latest / "index.html").read_text()
    assert 0 < page.index("Topology") < page.index("Every path one way")
    (node,) = json.loads((latest / "report.json").read_text())["nodes"]
    (mine,) = [check for check in node["checks"] if check["check"] == NAME]
    assert {"near.n0_g0", "off_socket.g1_n0"} <= {metric["name"] for metric in mine["metrics"]}


def test_levels_and_lint_know_it(pack: Path) -> None:
    levels = told(pack, "-c", "from nearfar.slurm.sweep import LEVELS; print(LEVELS['nightly'].checks)")
    assert NAME in levels.stdout, levels.stderr
    references = pack / "site/references/keeneland.yaml"
    rows = "  near.h2d: [5.7, -0.05, null, GB/s]\n  near.h2dd: [5.7, -0.05, null, GB/s]\n"
    with references.open("a") as file:
        file.write(f"{NAME}:\n{rows}")
    said = told(pack, "-m", "nearfar", "lint").stdout.splitlines()
    (wrong,) = [line for line in said if NAME in line]
    assert "near.h2dd" in wrong and "h2d" in wrong
    (pack / f"nearfar/question/{NAME}.py").unlink()
    assert f"references for '{NAME}', a check that does not exist" in told(pack, "-m", "nearfar", "lint").stdout


def test_reframe_by_hand_has_it_too(pack: Path) -> None:
    reframe = ("-c", "from reframe.frontend.cli import main; main()", "-C", "reframe_config.py", "-c", "checks")
    listed = told(pack, *reframe, "--system=keeneland", "-n", f"^{NAME}$", "-L").stdout
    assert "bandwidth of every path, one way alone" in listed, listed


@pytest.mark.parametrize(
    "right, wrong, words",
    [
        ("one_way_check", "one_way", f"{NAME}.py:1: the question of {NAME}.py is called '{NAME}', found 'one_way'"),
        ("levels=(NIGHTLY, ACCEPT)", "levels=('nightly', 'night')", f"{NAME}.py:1: no such level: 'night'"),
        ('("+gpu",)', '"+gpu"', f"{NAME}.py:1: systems is a tuple of texts, found one text"),
        ("QUESTION =", "question =", f"{NAME}.py:1: "),
        ("cells.single_paths", "cells.single_path", f"{NAME}.py:10: "),
        ("QUESTION = Question(", "QUESTION = Question(\n\0", f"{NAME}.py:"),
    ],
)
def test_what_is_wrong_with_the_file_is_told(pack: Path, right: str, wrong: str, words: str) -> None:
    """It is still in the list, as a case that cannot run."""
    file = pack / f"nearfar/question/{NAME}.py"
    file.write_text(file.read_text().replace(right, wrong))
    done = validate(pack, "--system", "keeneland", "--list")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(NAME)]
    assert words in line, line
    assert "peer_check" in done.stdout, "the others are asked"


def test_a_class_without_a_question_is_a_case_that_cannot_run(pack: Path) -> None:
    (pack / "checks/lone_check.py").write_text("import reframe\n")
    done = validate(pack, "--system", "keeneland", "--list")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("lone_check")]
    assert line.endswith(
        "checks/lone_check.py:1: no file of nearfar/question says what it asks: docs/guide/add-a-check.md"
    )


def test_a_question_whose_file_is_called_otherwise_is_told(pack: Path) -> None:
    file = pack / f"nearfar/question/{NAME}.py"
    file.rename(file.with_name("one_way.py"))
    done = validate(pack, "--system", "keeneland", "--list")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("one_way")]
    assert line.endswith("question/one_way.py:1: a question's file is called as its check is, which ends in _check")
