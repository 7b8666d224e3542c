"""What an installed wheel does, in a directory of nothing: the package with the data that ``pyproject.toml`` puts into it, no checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Nearfar = Callable[..., subprocess.CompletedProcess[str]]
PREDICT = ("predict", "--node", "keeneland", "n0:g0", "--json")


@pytest.fixture(scope="module")
def nearfar(tmp_path_factory: pytest.TempPathFactory) -> Nearfar:
    """Runs a command of the installed package in an empty directory, with an empty HOME."""
    packages, place = tmp_path_factory.mktemp("site-packages"), tmp_path_factory.mktemp("empty")
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(CHECKOUT / "nearfar", packages / "nearfar", ignore=leave)
    for source, target in project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"].items():
        copy = shutil.copyfile if (CHECKOUT / source).is_file() else shutil.copytree
        (packages / target).parent.mkdir(exist_ok=True)
        copy(CHECKOUT / source, packages / target)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEARFAR", "XDG"))}
    environment |= {"PYTHONPATH": str(packages), "HOME": str(place / "home")}

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nearfar", *words]
        return subprocess.run(
            command, cwd=place, env=environment | variables, capture_output=True, text=True, timeout=120
        )

    return run


@pytest.mark.parametrize(
    "words",
    [
        ("bind", "--for", "slurm", "--node", "summit"),
        ("lint",),
        ("detect", "--xml", str(CHECKOUT / "tests/data/topologies/constructed-eight-gpus-nvswitch-subnuma.xml")),
        ("schema", "verdict"),
        ("reproduce", "--list"),
    ],
    ids=lambda words: words[0],
)
def test_commands_that_need_no_gpu_work(nearfar: Nearfar, words: tuple[str, ...]) -> None:
    done = nearfar(*words)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout


def test_a_predicted_document_is_diagnosed(nearfar: Nearfar, tmp_path: Path) -> None:
    document = tmp_path / "slow.json"
    document.write_text(nearfar(*PREDICT, "--degrade", "g0.h2d=0.5").stdout)
    found = nearfar("diagnose", "--node", "keeneland", "--json", str(document))
    assert "g0.h2d" in {part["part"] for parts in json.loads(found.stdout)["sets"] for part in parts}, found.stderr


def test_what_needs_a_checkout_is_one_line(nearfar: Nearfar) -> None:
    for words in (("validate",), ("kit", "--with-pack", "--output", "x")):
        done = nearfar(*words)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and "checkout" in done.stderr, done.stderr


def test_runs_are_kept_in_the_users_state_directory(nearfar: Nearfar, tmp_path: Path) -> None:
    """ReFrame runs the package's checks on a modelled node; its page is written, and read again by other commands."""
    (tmp_path / "programs").mkdir()
    places = {"NEARFAR_PROGRAMS": str(tmp_path / "programs"), "XDG_STATE_HOME": str(tmp_path)}
    done = nearfar("validate", "--check", "host_device_check", **places)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "nearfar" / "reports" / "local").glob("*/run.json")
    assert json.loads(run.read_text())["modelled"] == ["keeneland"]
    assert nearfar("report", "latest", **places).returncode == 0
