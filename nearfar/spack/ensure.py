"""The pack's environment, installed: at once where nothing changed since the last time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nearfar.spack.found import Spack
from nearfar.spack.installed import Installed, Plan


def ensure(
    spack: Spack,
    cuda: bool,
    cuda_arch: str | None = None,
    *,
    site: Path | None = None,
    mirror: Path | None = None,
    agree: Callable[[Plan], bool] | None = None,
    fresh: bool = False,
) -> Installed:
    """Install nearfar's programs, OSU, and what the system lacks of MPI, hwloc, numactl (and CUDA); progress to stderr.

    ``cuda_arch``: such as ``90`` or ``80,90``; None: what the site's ``packages.yaml`` says, else the pack's own list.
    ``site``: a folder of Spack configuration (``packages.yaml`` with externals, ``mirrors.yaml`` …). ``mirror``: a
    source mirror. ``agree`` sees the plan before anything is built and may decline. ``fresh``: concretize again.
    Raises ``NearfarError`` with one line for whatever a user can mend.
    """
    raise NotImplementedError
