"""What Spack would install, and what it has installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

#: Packages that are an MPI.
_MPI = ("openmpi", "mpich", "mvapich", "mvapich2", "mvapich-plus", "intel-oneapi-mpi", "cray-mpich", "hpcx-mpi")


class SpackPackage(NamedTuple):
    """One concrete package. ``external_prefix``: the system's own, which Spack uses and does not build."""

    name: str
    version: str
    hash: str
    external_prefix: Path | None
    #: Whether the environment asks for it by name.
    asked: bool = False
    #: Whether it is there already; externals always are.
    there: bool = False


@dataclass(frozen=True)
class InstallPlan:
    """What an installation would do. ``folder``: the environment's, with ``spack.yaml`` and ``spack.lock``."""

    folder: Path
    packages: list[SpackPackage]

    @property
    def to_build(self) -> list[SpackPackage]:
        """What Spack would build, or fetch as a binary."""
        return [package for package in self.packages if not package.there]

    @property
    def external(self) -> list[SpackPackage]:
        """What the system brings."""
        return [package for package in self.packages if package.external_prefix is not None]


@dataclass(frozen=True)
class Installed:
    """An installed environment. ``view``: one prefix of everything that Spack built (``bin/``, ``libexec/``)."""

    view: Path
    packages: list[SpackPackage]
    #: The environment's folder, with ``spack.yaml`` and ``spack.lock``.
    folder: Path
    #: Whether nothing had to be done.
    kept: bool = False

    @property
    def programs(self) -> Path:
        """The folder of nearfar's programs, as ``NEARFAR_PROGRAMS`` takes it."""
        return self.view / "bin"

    @property
    def path(self) -> tuple[str, ...]:
        """Folders for the front of a PATH: the view's programs, then those of an MPI that is the site's own, which no view
        holds."""
        own = [p.external_prefix for p in self.packages if p.name in _MPI and p.external_prefix is not None]
        return (str(self.programs), *(str(prefix / "bin") for prefix in own))
