"""Looking again under a real ReFrame: what is kept, what is not run, and cases that ReFrame runs more than once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.files import CHECKOUT
from nearfar.run import run_file
from nearfar.verdict import LookPlan, look_plan, run_directory
from nearfar.verdict.references import Reference
from tests.checks.test_checks import programs, reframe
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
    assert "looking again at" in (folder / "stderr.txt").read_text()
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
    assert judged["verdict"] == "FAIL" and looks(judged) == [True, True, True, False]
    assert "4 looks: 1.38, 1.38, 1.38, 5.87 GB/s, 3 of 4 beyond" in judged["reasons"][0]
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
    assert look_plan.read(plan.write(tmp_path)) == plan
    assert plan.seconds(10) == 2 * (5 + 60 + 20)


@pytest.mark.parametrize("made", [[], [{"time": "2026-11-20T09:00:00Z", "seconds": 1.0, "problem": None}]])
def test_looks_that_are_lacking_say_so(made: list[dict[str, Any]], tmp_path: Path) -> None:
    look_plan.write_account(tmp_path, [NAME], made)
    found = look_plan.later_looks(tmp_path, lambda _: [])
    first = "the second look left no document" if made else "the second look was interrupted"
    assert [look.problem for look in found] == [first, "the third look was interrupted"]
    assert look_plan.later_looks(tmp_path / "elsewhere", lambda _: []) == []
