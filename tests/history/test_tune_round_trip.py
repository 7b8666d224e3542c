"""tune → lint → run → green, under a real ReFrame; the programs are ``tests/support/fake_*.py``, which measure nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar.topology import inventory
from tests.checks.test_checks import programs
from tests.conftest import CHECKOUT
from tests.support import fake_stream

CHECK = "host_device_check"


class Site:
    """A system that claims this machine, described as Keeneland's nodes are, with a state of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder, folder / "site"
        for name in ("systems", "nodes"):
            (self.site / name).mkdir(parents=True)
        shutil.copy(CHECKOUT / "site/nodes/keeneland.xml", self.site / "nodes")
        described = (CHECKOUT / "site/nodes/keeneland.yaml").read_text()
        (self.site / "nodes/mine.yaml").write_text(described.replace("node_type: keeneland", "node_type: mine"))
        self.programs = programs(folder / "bin")

    def nearfar(self, *words: str, case: str = "good") -> subprocess.CompletedProcess[str]:
        text = "system: mine\npartitions:\n  - name: gpu\n    node_type: mine\n    features: [gpu]\n"
        text += f"    env_vars: {{FAKE_CASE: {case}, FAKE_HOST: {socket.gethostname()}}}\n"
        (self.site / "systems/mine.yaml").write_text(text)
        return self.say(words)

    def say(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """A command, on the site as it is."""
        environment = {
            **os.environ, "NEARFAR_STATE": str(self.folder), "NEARFAR_SITE": str(self.site), "NEARFAR_SYSTEM": "mine",
            "NEARFAR_PROGRAMS": str(self.programs),
        }  # fmt: skip
        environment.pop("NEARFAR_HISTORY", None)
        command = [sys.executable, "-m", "nearfar", *words]
        return subprocess.run(command, env=environment, cwd=CHECKOUT, text=True, capture_output=True, timeout=180)

    def validate(self, case: str = "good") -> tuple[int, dict[str, Any]]:
        done = self.nearfar("validate", "--check", CHECK, case=case)
        latest = self.folder / "reports/latest"
        assert latest.exists(), done.stdout + done.stderr
        (verdict,) = latest.glob(f"*/{CHECK}/verdict.json")
        return done.returncode, json.loads(verdict.read_text())


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """One run, and the references that it gives."""
    site = Site(tmp_path_factory.mktemp("round"))
    code, verdict = site.validate()
    assert code == 0 and {m["reference"]["origin"] for m in verdict["metrics"] if m["reference"]} == {"prediction"}
    done = site.nearfar("tune", "--system", "mine", "--apply")
    assert done.returncode == 0, done.stderr
    assert "+    near.h2d: [5.865, -0.0" in done.stdout and "degraded: -0.0" in done.stdout
    return site


def test_the_site_is_without_fault(tuned: Site) -> None:
    done = tuned.nearfar("lint")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "references/mine.yaml" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_the_next_run_is_green_by_the_tuned_references(tuned: Site) -> None:
    code, verdict = tuned.validate()
    assert (code, verdict["verdict"]) == (0, "PASS"), verdict["reasons"]
    copies = [m for m in verdict["metrics"] if m["quantity"] == "copy" and m["flow"] is None]
    judged = [m["reference"] for m in copies]
    assert judged and all(each["origin"] == "tuned" and not each["stale"] for each in judged)
    assert "n = 1" in judged[0]["note"]


def test_and_a_slower_path_is_not(tuned: Site) -> None:
    code, verdict = tuned.validate("slower_path")
    assert (code, verdict["verdict"]) == (1, "FAIL"), "one node is enough"
    assert any("expected at least" in reason and "tuned" in reason for reason in verdict["reasons"]), verdict["reasons"]


def test_a_sweep_without_references_has_no_answer_and_gives_them(tmp_path: Path) -> None:
    """Its only fault is that nothing could be judged: its figures are tuned, and the next sweep is green."""
    site = Site(tmp_path)
    program = site.programs / "nearfar-copy"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {fake_stream.__file__} "$@"\n')
    described = f"expect: {{packages: {len(inventory.observe().packages)}}}"
    (site.site / "systems/mine.yaml").write_text(f"system: mine\n{described}\npartitions: [{{name: cpu}}]\n")

    def swept(name: str) -> dict[str, Any]:
        words = ["slurm", "node", f"--results={tmp_path}/results", f"--sweep={name}", "--node=n1", "--level=nightly"]
        done = site.say(words)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads((tmp_path / f"results/{name}/nodes/n1/1/result.json").read_text())
        return found

    first = swept("first")
    assert {check["check"]: check["verdict"] for check in first["checks"]} == {
        "host_memory_check": "INDETERMINATE", "topology_check": "PASS",
    }  # fmt: skip
    assert first["verdict"] == "INDETERMINATE" and "nearfar tune --system mine" in first["reason"]
    done = site.say(["tune", "--system", "mine", "--apply"])
    assert done.returncode == 0 and "local.triad: [20.0, -0.1, null, GB/s]" in done.stdout, done.stdout + done.stderr
    second = swept("second")
    assert (second["verdict"], second["reason"]) == ("PASS", None), second["checks"]
