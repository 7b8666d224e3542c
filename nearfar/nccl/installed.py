"""Where nccl-tests are on this machine: ``NEARFAR_NCCL_TESTS`` (a folder), else the PATH, which a module or Spack sets."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from nearfar.base import NearfarError

#: How a site gets them.
INSTALL = (
    "spack -e spack/peers install (docs/deploy.md), or build github.com/NVIDIA/nccl-tests (make CUDA_HOME=… NCCL_HOME=…, with MPI=1 "
    "MPI_HOME=… for two nodes) and set NEARFAR_NCCL_TESTS to its build folder"
)


def find(test: str) -> Path | None:
    """The absolute path of a test's program (``all_reduce_perf``), or None."""
    named = os.environ.get("NEARFAR_NCCL_TESTS")
    folders = [named, f"{named}/build", f"{named}/bin"] if named else [os.environ.get("PATH", "")]
    # Debian and some modules name them as CMake does, with _mpi behind.
    names = [f"{test}_perf{end}" for end in ("", "_mpi")]
    found = next(filter(None, (shutil.which(name, path=folder) for folder in folders for name in names)), None)
    return None if found is None else Path(found).absolute()


def complaint() -> str:
    """Why there are none, and the line that brings them."""
    named = os.environ.get("NEARFAR_NCCL_TESTS")
    where = (
        f"NEARFAR_NCCL_TESTS={named} holds no all_reduce_perf" if named else "there is no all_reduce_perf on the PATH"
    )
    return f"nccl-tests: {where}; {INSTALL}"


def lacking() -> dict[str, str]:
    """``nccl`` with what is missing, where this machine has none. Raises ``NearfarError`` for a named folder without them."""
    if find("all_reduce") is not None:
        return {}
    if os.environ.get("NEARFAR_NCCL_TESTS"):
        raise NearfarError(f"{complaint()}; fix or unset the variable")
    return {"nccl": "there is no all_reduce_perf on the PATH"}
