"""Every Python from 3.10 on: the locked packages come for it, and a modelled run passes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .conftest import MODELLED, good, needs_network, run, with_programs

pytestmark = pytest.mark.install


def interpreter(version: str) -> str:
    """The first Python of this version that starts, of PATH and pyenv; skips the test where there is none."""
    versions = sorted(Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv").glob(f"versions/{version}.*/bin"))
    for folder in [*map(str, versions), *os.environ["PATH"].split(os.pathsep)]:
        path = shutil.which(f"python{version}", path=folder)
        if path and run(path, "-c", "import venv, ensurepip").returncode == 0:
            return path
    pytest.skip(f"no python{version} on PATH or in pyenv")


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_a_python_is_set_up_and_runs(version: str, place: Path, programs: Path) -> None:
    python = interpreter(version)
    needs_network()
    checkout = with_programs(place / "nearfar", programs)
    good(run(python, "-m", "venv", checkout / ".venv"))  # the set-up keeps an environment that works
    good(run("./validate", "--setup-only", "--cuda", "none", cwd=checkout))
    assert version in good(run(checkout / ".venv/bin/python", "--version"))
    good(run("./validate", "--cuda", "none", *MODELLED, cwd=checkout))
