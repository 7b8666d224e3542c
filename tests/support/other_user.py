"""Another user than the one who tests: a directory that every user reaches, and a Python that every user may start."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.base.places import IMPORT_PATH as CHECKOUT

#: Who submits where that is not root.
NOBODY = 65534


def place_for_all() -> Iterator[Path]:
    """A directory that every user reaches: pytest's own are this user's."""
    with tempfile.TemporaryDirectory(prefix="nearfar-user-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def python_of(user: int, folder: Path) -> str:
    """A Python with this one's packages that a user may start; skips the test where there is none."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        made = folder / "venv"
        if python != sys.executable:
            if subprocess.run([python, "-m", "venv", "--without-pip", str(made)], capture_output=True).returncode:
                continue
            packages = "".join(f"{path}\n" for path in site.getsitepackages())
            Path(sysconfig.get_path("purelib", vars={"base": str(made)}), "these.pth").write_text(packages)
            python = str(made / "bin/python")
        look = [*become(user), python, "-c", "import reframe, nearfar.cli"]
        done = subprocess.run(look, env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, cwd="/", capture_output=True)
        if done.returncode == 0:
            return python
    pytest.skip("no Python that another user may start")


def become(user: int) -> list[str]:
    """What starts a command as another user, without any of root's rights."""
    # The shell between has lost root's rights already: setpriv itself would still find what only root may start.
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "sh", "-c", 'exec "$0" "$@"']
