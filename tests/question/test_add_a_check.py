"""One more file of nearfar/question is one more check: in the list, a run, its page, the levels, lint, and under ReFrame."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.checks.test_checks import programs
from tests.conftest import CHECKOUT
from tests.run.test_validation import command, run_json, validate

GUIDE = CHECKOUT / "docs/extend.md"
NAME = "one_way_check"


def guides_files() -> list[str]:
    """The question and the class that the guide shows."""
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    return [textwrap.dedent(block).strip() + "\n" for block in blocks if f'"{NAME}"' in block]


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the pack with the guide's two files and the word in the catalogue."""
    copy = tmp_path / "checkout"
    for folder in ("nearfar", "checks", "site"):
        shutil.copytree(CHECKOUT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "reframe_config.py", copy)
    programs(tmp_path / "bin")
    question, check = guides_files()
    (copy / f"nearfar/question/{NAME}.py").write_text(question, encoding="utf-8")
    (copy / f"checks/{NAME}.py").write_text(check, encoding="utf-8")
    catalogue = copy / "nearfar/question/catalogue.py"
    words = catalogue.read_text(encoding="utf-8")
    catalogue.write_text(
        words.replace('    "peer_check",\n', f'    "{NAME}",\n    "peer_check",\n', 1), encoding="utf-8"
    )
    return copy


def told(pack: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a Python in the copy says."""
    env = command(pack)[1]
    return subprocess.run([sys.executable, *words], cwd=pack, env=env, capture_output=True, text=True, timeout=120)


def test_the_guides_files_are_short() -> None:
    assert [len([line for line in file.splitlines() if line.strip()]) for file in guides_files()] == [10, 7]


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
    catalogue = pack / "nearfar/question/catalogue.py"
    catalogue.write_text(catalogue.read_text().replace(f'    "{NAME}",\n', ""))
    assert f"references for '{NAME}', a check that does not exist" in told(pack, "-m", "nearfar", "lint").stdout


def test_reframe_by_hand_has_it_too(pack: Path) -> None:
    reframe = ("-c", "from reframe.frontend.cli import main; main()", "-C", "reframe_config.py", "-c", "checks")
    listed = told(pack, *reframe, "--system=keeneland", "-n", f"^{NAME}$", "-L").stdout
    assert "bandwidth of every path, one way alone" in listed, listed


@pytest.mark.parametrize(
    "right, wrong, line",
    [
        ("cells.single_paths", "cells.single_path", 10),
        ("from nearfar import cells", "from nearfar import no_such_module", 3),
        ("QUESTION = Question(", "QUESTION = Question((", 7),
    ],
)
def test_a_broken_question_ends_the_run_with_one_line(pack: Path, right: str, wrong: str, line: int) -> None:
    file = pack / f"nearfar/question/{NAME}.py"
    file.write_text(file.read_text().replace(right, wrong))
    done = validate(pack, "--system", "keeneland")
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1, done.stderr
    assert f"{file}:{line}: " in done.stderr


def test_a_question_without_a_class_is_missed(pack: Path) -> None:
    (pack / f"checks/{NAME}.py").unlink()
    done = validate(pack, "--system", "keeneland", "--check", NAME)
    (missing,) = run_json(pack)["missing_cases"]
    assert done.returncode == 3 and missing["check"] == NAME and f"{NAME}.py: " in missing["reason"]
