"""What the tests of real installations share: copies of the checkout, a set-up one that every user reaches, and how commands are run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.base import places
from tests.support.other_user import place_for_all

CHECKOUT = places.IMPORT_PATH
#: Kept, so that a second run is quick: chroots, and the programs that the copies take over.
STORE = places.state_directory() / "build" / "install"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: A run that needs no GPU and no program that measures.
MODELLED = ("--system", "keeneland", "--check", "topology_check")


def run(
    *command: str | Path, cwd: str | Path = "/", seconds: float = 1500, **environment: object
) -> subprocess.CompletedProcess[str]:
    """Run a command with the system's PATH and none of the tester's environment but how the network is reached."""
    network = {
        key: value for key, value in os.environ.items() if key.startswith("PIP_") or key.lower().endswith("_proxy")
    }
    named = {key: str(value) for key, value in environment.items()}
    return subprocess.run(
        ["nice", *map(str, command)], cwd=cwd, timeout=seconds, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={"PATH": SYSTEM_PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", **network, **named},
    )  # fmt: skip


def good(done: subprocess.CompletedProcess[str]) -> str:
    """What a command printed that must have ended with 0."""
    assert done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def needs_network() -> None:
    """Skip the test where PyPI is not reached."""
    if run(
        "python3", "-m", "pip", "download", "-q", "--no-deps", "-d", "/dev/null/none", "tabulate", PIP_RETRIES=0
    ).stderr.count("Connection"):
        pytest.skip("needs the network: PyPI is not reached")


def copy(folder: Path) -> Path:
    """A copy of the checkout's files, as ``git ls-files`` has them; the environment and the builds of an earlier copy stay."""
    folder.mkdir(parents=True, exist_ok=True)
    good(
        run(
            "find",
            folder,
            "-mindepth",
            1,
            "-maxdepth",
            1,
            "!",
            "-name",
            ".venv",
            "!",
            "-name",
            "build",
            "-exec",
            "rm",
            "-rf",
            "{}",
            "+",
        )
    )
    good(
        run(
            "sh",
            "-ec",
            'git -C "$0" ls-files -z | tar -C "$0" --null -T - --ignore-failed-read -cf - | tar -C "$1" -xf -',
            CHECKOUT,
            folder,
        )
    )
    return folder


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the build without CUDA."""
    return Path(good(run(CHECKOUT / "setup/build", "--print", "--cuda", "none", NEARFAR_STATE=STORE)).strip()).parent


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user reaches."""
    yield from place_for_all()


def with_programs(folder: Path, programs: Path) -> Path:
    """A copy of the checkout in which the programs are built already."""
    shutil.copytree(programs, copy(folder) / "build" / programs.name, symlinks=True)
    return folder


@pytest.fixture(scope="package")
def ready(programs: Path) -> Iterator[Path]:
    """A copy of the checkout that root set up with the system's Python, which every user may read."""
    for folder in place_for_all():
        checkout = with_programs(folder / "nearfar", programs)
        good(run(checkout / "validate", "--setup-only", "--cuda", "none"))
        yield checkout
