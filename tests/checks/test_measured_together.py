"""Checks of one session share one run of their program; alone, and under plain ReFrame, each runs it itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT
from tests.support.emulated import Emulated, emulated_programs

CHECKS = (
    "topology_check",
    "host_device_check",
    "sharing_check",
    "latency_check",
    "tail_check",
    "host_memory_check",
    "gpu_memory_check",
)


class Machine:
    """One emulated GPU; every start of nearfar-copy is written down."""

    def __init__(self, folder: Path, emulated: Emulated) -> None:
        self.folder, self.state = folder, folder / "state"
        (folder / "bin").mkdir()
        program = folder / "bin/nearfar-copy"
        program.write_text(f'#!/bin/sh\necho "$*" >>{folder}/starts\nexec {emulated.programs}/emulated-copy "$@"\n')
        program.chmod(0o755)
        (folder / "site/systems").mkdir(parents=True)
        (folder / "site/systems/mine.yaml").write_text("system: mine\npartitions:\n  - {name: gpu, features: [gpu]}\n")
        self.environment = emulated.environment(1, "memory=4e9") | {
            "NEARFAR_SITE": str(folder / "site"), "NEARFAR_SYSTEM": "mine", "NEARFAR_PROGRAMS": str(folder / "bin"),
            "NEARFAR_STATE": str(self.state), "PYTHONPATH": str(CHECKOUT), "NEARFAR_WAIT": "300",
        }  # fmt: skip

    def validate(self, *checks: str) -> Path:
        """Run the checks; returns the folder of the node in the run directory."""
        words = [word for check in checks for word in ("--check", check)]
        command = [sys.executable, "-m", "nearfar", "validate", *words]
        done = subprocess.run(command, env=self.environment, cwd=CHECKOUT, capture_output=True, text=True)
        assert done.returncode in (0, 1, 3), done.stderr + done.stdout
        self.said = done.stderr
        (node,) = (self.state / "reports/latest").resolve().glob("*/host_device_check/..")
        return node.resolve()

    def starts(self) -> list[str]:
        """The programs that were started since the last call."""
        path = self.folder / "starts"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines


@pytest.fixture(scope="module")
def machine(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    folder = tmp_path_factory.mktemp("together")
    return Machine(folder, emulated_programs(build_folder, folder))


def document(node: Path, check: str) -> dict[str, Any]:
    return dict(json.loads((node / check / "document.json").read_text()))


def test_one_run_measures_for_seven_checks(machine: Machine) -> None:
    node = machine.validate(*CHECKS)
    assert len(machine.starts()) == 1
    assert "nearfar-copy measures for 7 checks" in machine.said
    asked = {check: document(node, check) for check in CHECKS}
    assert {r["quantity"] for r in asked["latency_check"]["results"]} == {
        "latency.copy",
        "latency.chase",
        "latency.launch",
    }
    assert {r["quantity"] for r in asked["tail_check"]["results"]} == {"tail"}
    lone = {check: next(r for r in asked[check]["results"] if r["cell"] == "n0:g0") for check in CHECKS[:3]}
    assert lone["topology_check"] == lone["host_device_check"] == lone["sharing_check"], "measured once"
    assert {r["cell"] for r in asked["gpu_memory_check"]["results"]} == {"g0:g0/triad"}
    verdicts = {check: json.loads((node / check / "verdict.json").read_text()) for check in CHECKS}
    assert verdicts["tail_check"]["verdict"] == "PASS" and all(v["measurement"] for v in verdicts.values())


def test_what_lies_beyond_its_bound_is_measured_again_by_its_check_alone(machine: Machine) -> None:
    references = machine.folder / "site/references"
    references.mkdir()
    (references / "mine.yaml").write_text(
        "provenance: {tuned: {date: 2026-11-20, n: 4}}\nhost_device_check:\n  sole.h2d: [55, -0.05, null, GB/s]\n"
    )
    site = machine.folder / "site/systems/mine.yaml"
    site.write_text("system: mine\npartitions:\n  - {name: gpu, features: [gpu], references: mine}\n")
    node = machine.validate("host_device_check", "latency_check")
    starts = machine.starts()
    assert len(starts) == 3 and "look-cells.txt" in starts[1] and "look-cells.txt" in starts[2], starts
    verdict = json.loads((node / "host_device_check/verdict.json").read_text())
    # Emulated clocks are held down by the power cap, which excuses the rate.
    assert verdict["verdict"] in ("FAIL", "INDETERMINATE") and (node / "host_device_check/look-2.json").exists()
    assert json.loads((node / "latency_check/verdict.json").read_text())["verdict"] == "not judged"


def test_a_shared_run_that_breaks_off_leaves_each_check_its_own(machine: Machine) -> None:
    program = machine.folder / "bin/nearfar-copy"
    whole = program.read_text()
    program.write_text(
        whole.replace(
            "exec ", f'[ -e {machine.folder}/broke ] || {{ touch {machine.folder}/broke; echo "{{}}"; exit 1; }}\nexec '
        )
    )
    node = machine.validate("host_device_check", "latency_check")
    program.write_text(whole)
    starts = [line for line in machine.starts() if "look-cells" not in line]
    assert len(starts) == 3 and "--latency" in starts[2], starts
    assert document(node, "latency_check")["results"] and document(node, "host_device_check")["results"]


def test_a_check_alone_asks_for_its_own_cells(machine: Machine) -> None:
    node = machine.validate("host_device_check")
    (start,) = [line for line in machine.starts() if "look-cells" not in line]
    assert {r["cell"] for r in document(node, "host_device_check")["results"]} == {
        "n0:g0",
        "g0:n0",
        "n0:g0+g0:n0",
        "n0:g0/pageable",
    }
    reframe = [
        sys.executable,
        "-c",
        "from reframe.frontend.cli import main; main()",
        "-C",
        "reframe_config.py",
        "--prefix",
        str(machine.folder),
    ]
    environment = {**os.environ, **machine.environment, "NEARFAR_RUN_DIR": str(machine.folder / "plain")}
    words = [
        *reframe,
        "--system",
        "mine",
        "-c",
        "checks/host_device_check.py",
        "-c",
        "checks/latency_check.py",
        "-n",
        "latency_check",
        "-r",
    ]
    done = subprocess.run(words, env=environment, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    (plain,) = machine.starts()
    assert "--latency" in plain and "cells.txt" in start
