"""tune → lint → run → green, under a real ReFrame; the program is ``tests/fake_program.py``, which measures nothing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.files import CHECKOUT
from tests.test_checks import programs

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
    assert "+    near.h2d: [5.865, -0.02, null, GB/s]" in done.stdout
    return site


def test_the_site_is_without_fault(tuned: Site) -> None:
    done = tuned.nearfar("lint")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "references/mine.yaml" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_the_next_run_is_green_by_the_tuned_references(tuned: Site) -> None:
    code, verdict = tuned.validate()
    assert (code, verdict["verdict"]) == (0, "PASS"), verdict["reasons"]
    judged = [m["reference"] for m in verdict["metrics"] if m["quantity"] == "copy"]
    assert judged and all(each["origin"] == "tuned" and not each["stale"] for each in judged)
    assert "n = 1, slack, provisional" in judged[0]["note"]


def test_and_a_slower_path_is_not(tuned: Site) -> None:
    code, verdict = tuned.validate("slower_path")
    assert (code, verdict["verdict"]) == (1, "FAIL")
    assert any("expected at least" in reason and "tuned" in reason for reason in verdict["reasons"]), verdict["reasons"]
