"""What starts the ranks of the program: nothing, or a launcher of the table, with its own binding or with none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.binding import LAUNCHERS, MPIS, Mpi, launchers
from nearfar.mpi import as_root
from nearfar.mpi.osu import installed


@dataclass(frozen=True)
class Launcher:
    """A launcher as found. ``mpi`` None: the program is started by itself, one rank. ``options`` are the user's, for every scheme."""

    name: str
    mpi: Mpi | None = None
    options: tuple[str, ...] = ()
    oversubscribe: bool = False

    @property
    def words(self) -> str:
        """What it is, in words: ``Open MPI 4.1.4``."""
        return self.mpi.name if self.mpi is not None else "no launcher"

    def command(self, ranks: int, bound: bool) -> list[str]:
        """Its words before the program; ``bound``: the ranks bind themselves, and it binds none."""
        if self.mpi is None:
            return []
        if bound:
            return [*launchers.command(self.mpi, ranks), *self.options]
        return [self.mpi.launcher, *LAUNCHERS[self.mpi.kind].own(ranks, self.oversubscribe), *self.options]

    def environment(self, bound: bool) -> dict[str, str]:
        """What the environment has beside this process's."""
        return {**(as_root.environment() if self.allowed_as_root else {}), **(launchers.no_binding() if bound else {})}

    @property
    def allowed_as_root(self) -> bool:
        """Whether it is started as root, and told that it may be."""
        return self.mpi is not None and as_root.is_needed(self.mpi)


def launcher(name: str | None, program: Path, ranks: int, options: Sequence[str], oversubscribe: bool) -> Launcher:
    """The launcher of that name; None: none for one rank, else that of the MPI which the program is linked with.

    Raises ``NearfarError`` for several ranks or options without a launcher, ``CouldNotJudge`` where there is none to be found.
    """
    if name == "none" or (name is None and ranks == 1 and not options):
        if ranks > 1:
            known = ", ".join(launchers.startable())
            raise NearfarError(f"--launcher none starts one rank, and there are {ranks}: name a launcher ({known})")
        if options:
            raise NearfarError("--launcher-options belong to a launcher: name it with --launcher")
        return Launcher("none")
    mpi = installed.mpi_of(program) if name is None else _named(name)
    return Launcher(mpi.kind, mpi, tuple(options), oversubscribe)


def _named(name: str) -> Mpi:
    asked = os.environ.get("NEARFAR_MPIRUN")
    seen = []
    for word in [asked] if asked else launchers.programs(name):
        path = shutil.which(word)
        if path is None:
            continue
        mpi, version = installed.identify(path)
        if mpi is not None and name == (MPIS[mpi].launcher if mpi in MPIS else mpi):
            return Mpi(mpi, version, path, name, "")
        seen.append(f"{path} is of another MPI")
    what = "; ".join(seen) or f"none of {', '.join(launchers.programs(name))} is on PATH"
    install = f"load its module, or install it (Debian: {LAUNCHERS[name].package})"
    raise CouldNotJudge(f"--launcher {name}: {what}: {install}")
