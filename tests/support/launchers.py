"""Starting a program with several ranks by the MPI that it was built with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def mpirun(program: Path, ranks: int, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run ``program`` with ``ranks`` ranks that no launcher binds; skips the test where it cannot be run."""
    command = [*launcher(program, ranks), str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment())


def environment() -> dict[str, str]:
    """This environment, in which Open MPI runs as root too."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launcher(program: Path, ranks: int) -> list[str]:
    """The launcher's words for so many ranks."""
    if not program.exists():
        pytest.skip(f"no MPI: {program.name} was not built")
    linked = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    openmpi = "libmpi.so" in linked
    found = next(filter(None, map(shutil.which, ("mpirun.openmpi" if openmpi else "mpirun.mpich", "mpirun"))), None)
    if found is None:
        pytest.skip("no mpirun on PATH")
    return [found, *(["--bind-to", "none", "--oversubscribe"] if openmpi else []), "-n", str(ranks)]
