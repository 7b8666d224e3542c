"""Looking again under a real ReFrame: what is kept, what is not run, and cases that ReFrame runs more than once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import CouldNotJudge
from nearfar.run import run_file
from nearfar.verdict import LookPlan, look_plan, run_directory, thresholds
from nearfar.verdict.references import Reference
from tests.checks.test_checks import programs, reframe
from tests.conftest import CHECKOUT
from tests.verdict.test_references import NODE

NAME = "near.g2_n1"


def ran(folder: Path, case: str, *options: str) -> Path:
    """One case under ReFrame; the node's folder in the run directory."""
    (folder / "site" / "systems").mkdir(parents=True)
    (folder / "site" / "nodes").mkdir()
    shutil.copy(CHECKOUT / "site/nodes/keeneland.xml", folder / "site" / "nodes")
    described = (CHECKOUT / "site/nodes/keeneland.yaml").read_text()
    (folder / "site/nodes/unpublished.yaml").write_text(
        described.replace("node_type: keeneland", "node_type: unpublished")
    )
    (folder / "site/systems/fake.yaml").write_text(
        "system: fake\npartitions:\n"
        f"  - {{name: p, node_type: unpublished, features: [gpu], env_vars: {{FAKE_CASE: {case}}}}}\n"
    )
    programs(folder / "bin")
    done = reframe(
        folder, "-r", "--system=fake", "-n", "^host_device_check", "-S", "host_device_check.look_spacing=0", "--keep-stage-files",
        *options, NEARFAR_SITE=str(folder / "site"), NEARFAR_SYSTEM="fake", NEARFAR_PROGRAMS=str(folder / "bin"),
    )  # fmt: skip
    found = {path.parent.parent for path in (folder / "run").glob("*/*/verdict.json")}
    assert len(found) == 1, done.stdout + done.stderr
    return found.pop()


def verdict(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return read


def looks(judged: dict[str, Any]) -> list[bool | None]:
    """Of the path that is slow: whether each look at it lay beyond the bound."""
    (entry,) = (m for m in judged["metrics"] if m["subject"] == "g2:n1")
    return [look["beyond"] for look in entry.get("looks", [])]


def test_every_document_is_kept_and_only_the_slow_cell_measured_again(tmp_path: Path) -> None:
    folder = ran(tmp_path, "broken_path") / "host_device_check"
    assert looks(verdict(folder)) == [True, True, True]
    for number in (1, 2):
        document = json.loads((folder / f"look-{number}.json").read_text())
        assert {result["cell"] for result in document["results"]} >= {"g2:n1"}
        assert all("g2:n1" in r["cell"] or r["cell"] == "g2:n0" for r in document["results"]), (
            "and nothing of other GPUs"
        )
    assert "again (1 of 2, in " in (folder / "stderr.txt").read_text()
    assert "(1 of 2, in 0 s)" in (folder / "stderr.txt").read_text()


def test_what_is_healthy_is_measured_once(tmp_path: Path) -> None:
    folder = ran(tmp_path, "good") / "host_device_check"
    assert verdict(folder)["verdict"] == "PASS"
    assert not list(folder.glob("look-*.json"))
    assert [path.name for path in tmp_path.glob("**/ran-*")] == ["ran-1"]
    assert not list(tmp_path.glob(f"**/{look_plan.ACCOUNT}"))


def test_a_retry_keeps_what_was_seen_before(tmp_path: Path) -> None:
    folder = ran(tmp_path, "slow_until_retried", "--max-retries=1") / "host_device_check"
    judged = verdict(folder)
    assert judged["verdict"] == "FAIL" and looks(judged) == []
    assert "3 measurements: 1.38, 1.38, 1.38 GB/s, all beyond" in judged["reasons"][0]
    assert judged["reasons"][0].endswith("(in an earlier run of this case)")
    assert looks(verdict(folder / "run-1")) == [True, True, True]
    assert {"verdict.json", "document.json", "look-1.json", "look-2.json"} <= {
        p.name for p in (folder / "run-1").iterdir()
    }
    assert not list(folder.glob("look-*.json"))
    run_file.adopt(tmp_path / "run")
    run = run_directory.read(tmp_path / "run")
    assert (run.raw["verdict"], run.missing_cases) == ("FAIL", [])
    assert [case["result"] for case in run.raw["ran_cases"]] == ["fail"]


def test_each_repeat_keeps_its_own(tmp_path: Path) -> None:
    node = ran(tmp_path, "slow_repeat", "--repeat=2")
    words = {path.parent.name: verdict(path.parent)["verdict"] for path in node.glob("*/verdict.json")}
    assert words == {"host_device_check": "PASS", "host_device_check@repeat2": "FAIL"}
    run_file.adopt(tmp_path / "run")
    run = run_directory.read(tmp_path / "run")
    assert (run.raw["verdict"], run.missing_cases, len(run.raw["expected_cases"])) == ("FAIL", [], 1)
    (read,) = run.nodes
    assert [check.name for check in read.checks] == ["host_device_check", "host_device_check@repeat2"]
    assert read.word == "FAIL"


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    references = {NAME: Reference(55.5, -0.05, None, "GB/s", "tuned", "2026-11-20, n = 4", 54.0, "at least 54")}
    plan = LookPlan("host_device_check", NODE, references, "cells.txt", None, 60.0, 2.0)
    plan.write(tmp_path)
    assert look_plan.read(tmp_path / look_plan.PLAN) == plan
    assert plan.seconds(10) == 2 * (5 + 60 + 20)


def planned(folder: Path) -> LookPlan:
    references = {NAME: Reference(55.5, -0.05, None, "GB/s", "tuned", "2026-11-20, n = 4")}
    plan = LookPlan("host_device_check", NODE, references, "cells.txt", None, 60.0, 2.0)
    plan.write(folder)
    return plan


@pytest.mark.parametrize("made", [[], [{"time": "2026-11-20T09:00:00Z", "seconds": 1.0, "problem": None}]])
def test_looks_that_are_lacking_say_so(made: list[dict[str, Any]], tmp_path: Path) -> None:
    plan = planned(tmp_path)
    look_plan.write_account(tmp_path, [NAME], made)
    found = look_plan.later_looks(tmp_path, plan, None)
    first = "the second measurement left no document" if made else "the second measurement was interrupted"
    assert [look.problem for look in found] == [first, "the third measurement was interrupted"]


@pytest.mark.parametrize(
    "account",
    [None, "", "[]", '{"figures": []', '{"figures": [], "looks": [{}]}', '{"figures": 3, "looks": 4}'],
)  # fmt: skip
def test_an_account_that_cannot_be_read_is_no_look(account: str | None, tmp_path: Path) -> None:
    plan = planned(tmp_path)
    if account is not None:
        (tmp_path / look_plan.ACCOUNT).write_text(account)
    found = look_plan.later_looks(tmp_path, plan, None)
    assert [look.problem for look in found] == [
        "the second measurement was not made",
        "the third measurement was not made",
    ]
    assert {name for look in found for name in look.asked} == {NAME}
    assert look_plan.seconds(tmp_path) == 0.0


def test_a_thousand_looks_are_two(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    look_plan.write_account(tmp_path, [NAME], 1000 * [{"time": "x", "seconds": 1.0, "problem": "did not end"}])
    assert len(look_plan.later_looks(tmp_path, plan, None)) == thresholds.MEASURED_AGAIN


def test_a_stage_that_is_used_again_keeps_no_looks_of_before(tmp_path: Path) -> None:
    for name in (look_plan.ACCOUNT, look_plan.look_file(1), look_plan.look_file(2)):
        (tmp_path / name).write_text("{}")
    planned(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {look_plan.PLAN}


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"references": {"a": {"b": 1}}}', '{"references": 5}'])
def test_a_plan_that_cannot_be_read_is_one_line(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / look_plan.PLAN
    if text is not None:
        path.write_text(text)
    with pytest.raises(CouldNotJudge, match=r"look-plan\.json: .*; nothing is measured again$"):
        look_plan.read(path)


def test_a_job_without_its_plan_ends_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nearfar.verdict.look_again", look_plan.PLAN, "--limit", "9", "--", "echo", "{}"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "{}\n" and done.stderr.startswith("nearfar: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "case, word, words",
    [
        ("wrong_data_until_retried", "FAIL", "g2:n1: GPU 2: wrong_data"),
        ("slow_then_crash", "FAIL", "3 measurements: 1.38, 1.38, 1.38 GB/s, all beyond 3.46 GB/s"),
        ("busy_until_retried", "PASS", ""),
        ("crash_until_retried", "PASS", ""),
    ],
)
def test_what_a_retry_takes_back(case: str, word: str, words: str, tmp_path: Path) -> None:
    folder = ran(tmp_path, case, "--max-retries=2") / "host_device_check"
    judged = verdict(folder)
    assert judged["verdict"] == word and words in "".join(judged["reasons"][:1])
    report = json.loads((tmp_path / "run" / "reframe-report.json").read_text())
    last = [case for case in report["runs"][-1]["testcases"] if case["name"] == "host_device_check"]
    assert [case["result"] == "pass" for case in last] == [word == "PASS"]
    assert (folder / "run-1" / "verdict.json").is_file()
