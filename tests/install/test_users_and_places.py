"""A set-up checkout under other users, copied, moved, and without a network."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.other_user import NOBODY, become

from .conftest import MODELLED, copy, good, run
from .test_pythons import interpreter

pytestmark = [
    pytest.mark.install,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("setpriv"), reason="becomes other users: needs root and setpriv"
    ),
]


def files(folder: Path) -> dict[str, int]:
    """Everything below a directory, with the time of its last change."""
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("user", [54321, NOBODY], ids=["without a name", "another user"])
def test_another_user_runs_a_read_only_checkout(ready: Path, place: Path, user: int) -> None:
    state = place / "state"
    state.mkdir()
    os.chown(state, user, user)
    before = files(ready)
    environment = {"NEARFAR_STATE": state, "NEARFAR_CUDA": "none", "HOME": "/nonexistent"}
    good(run(*become(user), ready / "validate", *MODELLED, **environment))
    assert len(list(state.glob("reports/keeneland/*/run.json"))) == 1
    assert files(ready) == before
    assert (state / "build/bin").resolve() == (ready / "build/bin").resolve()  # compiled once, by the owner


def test_a_python_below_roots_home_is_named(place: Path) -> None:
    checkout = copy(place / "nearfar")
    python = interpreter("3.12")
    if not Path(python).resolve().is_relative_to("/root"):
        pytest.skip(f"{python} is not below /root")
    good(run(python, "-m", "venv", "--without-pip", checkout / ".venv"))
    done = run(*become(NOBODY), checkout / "bin/nearfar", "--version", NEARFAR_STATE=place / "state")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "(/root)" in done.stderr, done.stderr


@pytest.mark.parametrize("how", ["copied", "moved"])
def test_a_checkout_elsewhere_is_one_of_its_own(ready: Path, place: Path, how: str) -> None:
    elsewhere = place / "elsewhere"
    good(run("cp", "-a", ready, elsewhere))
    if how == "moved":
        good(run("./validate", "--is-set-up", "--cuda", "none", cwd=ready))
        elsewhere = elsewhere.rename(place / "moved")
    package = elsewhere / "nearfar/__init__.py"
    package.write_text(package.read_text().replace('__version__ = "', '__version__ = "9.'))
    before = files(ready)
    assert good(run(elsewhere / "bin/nearfar", "--version")).startswith("nearfar 9.")
    assert run(elsewhere / "validate", "--is-set-up", "--cuda", "none").returncode == 1
    good(run(elsewhere / "validate", "--cuda", "none", *MODELLED))
    assert list(elsewhere.glob("reports/keeneland/*/run.json")) and files(ready) == before
    assert run(elsewhere / "validate", "--is-set-up", "--cuda", "none").returncode == 0
    assert good(run(elsewhere / ".venv/bin/nearfar", "--version")).startswith("nearfar 9.")


def test_a_machine_without_a_network_is_set_up_from_a_pack(ready: Path, place: Path, programs: Path) -> None:
    good(run(ready / "bin/nearfar", "kit", "--with-pack", "--output", place / "pack.tar.gz"))
    fresh = place / "fresh"
    fresh.mkdir()
    good(run("tar", "-C", fresh, "--strip-components=1", "-xzf", place / "pack.tar.gz", "--exclude=wheels"))
    shutil.copytree(programs, fresh / "build" / programs.name, symlinks=True)
    alone = ("unshare", "--net")
    assert run(*alone, "python3", "-c", "import socket; socket.create_connection(('1.1.1.1', 443), 5)").returncode
    good(run(*alone, "./validate", "--offline", place / "pack.tar.gz", "--setup-only", "--cuda", "none", cwd=fresh))
    good(run(*alone, "./validate", "--cuda", "none", *MODELLED, cwd=fresh))
