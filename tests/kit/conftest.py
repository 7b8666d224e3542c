"""One kit for all tests of kits, and the file of one run of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.emulated import Emulated, emulated_programs

from . import made_kits
from .made_kits import MadeKit


@pytest.fixture(scope="session")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


@pytest.fixture(scope="session")
def archive(emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_kits.pack_emulated(emulated, tmp_path_factory.mktemp("kit"))


@pytest.fixture
def kit(archive: Path, emulated: Emulated, tmp_path: Path) -> MadeKit:
    return made_kits.unpacked(archive, tmp_path / "there", emulated)


@pytest.fixture(scope="session")
def result(archive: Path, emulated: Emulated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``kit/run --quick`` leaves on a machine with two emulated GPUs."""
    there = made_kits.unpacked(archive, tmp_path_factory.mktemp("there"), emulated)
    done = there.run("--quick", "--output", "result.tar.gz")
    assert done.returncode == 0, done.stderr
    return there.folder / "result.tar.gz"
