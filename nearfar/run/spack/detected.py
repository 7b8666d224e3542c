"""The machine's own packages for a system whose site names none: detected once, and again when its tools change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from nearfar.base import find_program, lock, make_directory

from . import externals
from .environment import base
from .found import Spack

#: What decides whether an earlier detection still holds.
_TOOLS = ("gcc", "g++", "gfortran", "clang", "mpicc", "mpirun", "nvcc", "lstopo", "hwloc-info", "cmake", "pkg-config")


def folder(spack: Spack, say: Callable[[str], None]) -> Path:
    """A folder of Spack configuration with what this machine has, below ``build/spack/``; detected where it is not there.

    Detection takes seconds, and a minute more the first time that a Spack looks into its packages. A site that wants to
    review it writes its own: ``nearfar spack externals --into site/systems/NAME``. ``NEARFAR_SPACK_MPI`` names another MPI
    than Open MPI.
    """
    mpi = os.environ.get("NEARFAR_SPACK_MPI") or "openmpi"
    found = base() / f"externals-{_key(spack, mpi)}"
    if (found / "packages.yaml").exists():
        return found
    make_directory(found)
    with lock(found.with_name(f"{found.name}.lock"), 600.0):
        if not (found / "packages.yaml").exists():
            answer = externals.write(spack, found, say, mpi)
            what = ", ".join(
                f"{name} ({'; '.join(specs)})"
                for name, specs in answer.found.items()
                if name in (mpi, *externals.NAMED)
            )
            say(f"of this machine's own, Spack takes {what or 'compilers and tools alone'}: {answer.file}")
    return found


def _key(spack: Spack, mpi: str) -> str:
    paths = [find_program(name) for name in _TOOLS]
    real = [os.path.realpath(path) for path in paths if path]
    words = [spack.version, str(spack.root), mpi, os.environ.get("CUDA_HOME", ""), *real]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
