"""``nearfar validate --degrade``: a fault of a modelled node, which its page names; what can have none is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT


def validate(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NEARFAR_STATE": str(folder)}
    command = [sys.executable, "-m", "nearfar", "validate", *options]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)


def test_the_page_names_the_part_and_that_the_fault_was_made_up(tmp_path: Path) -> None:
    done = validate(tmp_path, "--system", "summit", "--check", "host_device_check", "--degrade", "g2.d2h=0.5")
    assert done.returncode == 0, done.stderr
    assert (
        "GPU 2's host NVLink from device to host runs at half speed" in done.stdout
        and "with the made-up fault g2.d2h=0.5" in done.stdout
    ), done.stdout
    folder = (tmp_path / "reports/latest").resolve()
    assert json.loads((folder / "run.json").read_text())["degraded"] == ["g2.d2h=0.5"]
    assert "with the made-up fault g2.d2h=0.5" in (folder / "index.html").read_text()
    answered = json.loads(next(folder.glob("*/host_device_check/document.json")).read_text())
    rates = {each["cell"]: each["flows"][0]["rate"]["median"] for each in answered["results"]}
    assert rates["g2:n0"] == pytest.approx(rates["g0:n0"] / 2), rates


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--system", "summit", "--degrade", "g2.foo=0.5"], "--degrade g2.foo=0.5: summit has no such part"),
        (["--system", "summit", "--degrade", "g2.d2h"], "expected PART=FACTOR"),
        (["--system", "summit", "--degrade", "g2.d2h=1.5"], "above 0 and at most 1"),
        (["--system", "h200-x1-vm", "--degrade", "g0.d2h=0.5"], "only a modelled node can be given a fault"),
    ],
)
def test_wrong_use(tmp_path: Path, options: list[str], words: str) -> None:
    done = validate(tmp_path, *options)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") <= 2, done.stderr
