"""A wheel in an empty environment, called by its path in an empty directory, as ``pipx run`` does. No checkout is near."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import CHECKOUT, copy, good, needs_network, run

pytestmark = pytest.mark.install
Nearfar = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def nearfar(tmp_path_factory: pytest.TempPathFactory) -> Nearfar:
    """Runs the installed command in an empty directory with an empty HOME."""
    needs_network()
    place = tmp_path_factory.mktemp("wheel")
    good(run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place, copy(place / "source")))
    good(run("rm", "-r", place / "source"))
    venv.create(place / "venv", with_pip=True)
    good(run(place / "venv/bin/python", "-m", "pip", "install", "-q", *place.glob("nearfar-*.whl")))
    (place / "empty").mkdir()
    (place / "home").mkdir()
    return lambda *words: run(place / "venv/bin/nearfar", *words, cwd=place / "empty", HOME=place / "home")


@pytest.mark.parametrize(
    "words",
    ["predict --node summit", "bind --for slurm --node summit", "lint", f"detect --xml {CHECKOUT}/site/nodes/summit.xml"],
    ids=lambda words: words.split()[0],
)  # fmt: skip
def test_what_needs_no_gpu_works(nearfar: Nearfar, words: str) -> None:
    assert good(nearfar(*words.split()))


def test_documents_are_diagnosed_and_a_run_is_shown(nearfar: Nearfar, tmp_path: Path) -> None:
    for name, fault in {"well": (), "ill": ("--degrade", "g2.d2h=0.5")}.items():
        (tmp_path / f"{name}.json").write_text(good(nearfar("predict", "--node", "summit", "--json", *fault)))
    done = nearfar("diagnose", "--node", "summit", "--json", tmp_path / "ill.json", "--healthy", tmp_path / "well.json")
    assert done.returncode == 1 and "g2.d2h" in done.stdout, done.stderr
    subprocess.run([sys.executable, "-m", "tests.data.runs.small", tmp_path / "run"], cwd=CHECKOUT, check=True)
    assert Path(good(nearfar("report", tmp_path / "run")).strip()).is_file()
    assert json.loads((tmp_path / "run/report.json").read_text())


def test_validate_wants_a_checkout(nearfar: Nearfar) -> None:
    done = nearfar("validate")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "checkout" in done.stderr, done.stderr
