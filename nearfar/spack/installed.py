"""What Spack would install, and what it has installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Package(NamedTuple):
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
class Plan:
    """What an installation would do. ``folder``: the environment's, with ``spack.yaml`` and ``spack.lock``."""

    folder: Path
    packages: list[Package]

    @property
    def to_build(self) -> list[Package]:
        """What Spack would build, or fetch as a binary."""
        return [package for package in self.packages if not package.there]

    @property
    def external(self) -> list[Package]:
        """What the system brings."""
        return [package for package in self.packages if package.external_prefix is not None]


@dataclass(frozen=True)
class Installed:
    """An installed environment. ``view``: one prefix of everything that Spack built (``bin/``, ``libexec/``)."""

    view: Path
    packages: list[Package]
    #: Whether nothing had to be done.
    kept: bool = False

    @property
    def programs(self) -> Path:
        """The folder of nearfar's programs, as ``NEARFAR_PROGRAMS`` takes it."""
        return self.view / "bin"
