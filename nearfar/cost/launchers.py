"""What starts the ranks: nothing, Open MPI, MPICH's Hydra, srun; with its own binding or with none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.mpi import as_root
from nearfar.mpi.osu import installed, launch

#: What ``--launcher`` takes.
LAUNCHERS = ("none", "openmpi", "mpich", "srun")
#: Whose command line a launcher takes, as ``nearfar.mpi.osu`` calls it.
_KINDS = {"openmpi": "openmpi", "mpich": "hydra", "srun": "srun"}
_PROGRAMS = {
    "openmpi": ("mpirun", "mpirun.openmpi", "mpiexec"), "mpich": ("mpiexec.hydra", "mpirun.mpich", "mpiexec", "mpirun"), "srun": ("srun",),
}  # fmt: skip
_PACKAGES = {"openmpi": "openmpi-bin", "mpich": "mpich", "srun": "slurm-client"}


@dataclass(frozen=True)
class Launcher:
    """A launcher as found. ``mpi`` None: the program is started by itself, one rank. ``options`` are the user's, for every scheme."""

    name: str
    mpi: installed.Mpi | None = None
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
            return [*launch.words(self.mpi, ranks), *self.options]
        return [self.mpi.launcher, *self._own(ranks), *self.options]

    def _own(self, ranks: int) -> list[str]:
        assert self.mpi is not None
        if self.mpi.kind == "srun":
            more = ["--overcommit"] if self.oversubscribe else []
            return ["-N", "1", "-n", str(ranks), "--kill-on-bad-exit=1", *more]
        if self.mpi.kind == "openmpi" and self.oversubscribe:
            return ["--oversubscribe", "-n", str(ranks)]
        return ["-n", str(ranks)]

    def environment(self, bound: bool) -> dict[str, str]:
        """What the environment has beside this process's."""
        root = as_root.environment() if self.allowed_as_root else {}
        return {**root, **(launch.NO_BINDING if bound else {})}

    @property
    def allowed_as_root(self) -> bool:
        """Whether it is Open MPI, started as root, and told that it may be."""
        return self.mpi is not None and self.mpi.kind == "openmpi" and as_root.is_root()


def launcher(name: str | None, program: Path, ranks: int, options: Sequence[str], oversubscribe: bool) -> Launcher:
    """The launcher of that name; None: none for one rank, else that of the MPI which the program is linked with.

    Raises ``NearfarError`` for several ranks or options without a launcher, ``CouldNotJudge`` where there is none to be found.
    """
    if name == "none" or (name is None and ranks == 1 and not options):
        if ranks > 1:
            raise NearfarError(
                f"--launcher none starts one rank, and there are {ranks}: name a launcher ({', '.join(LAUNCHERS[1:])})"
            )
        if options:
            raise NearfarError("--launcher-options belong to a launcher: name it with --launcher")
        return Launcher("none")
    if name is None:
        mpi = installed.mpi_of(program)
        family = next(key for key, taken in _KINDS.items() if taken == mpi.kind)
        return Launcher(family, mpi, tuple(options), oversubscribe)
    return Launcher(name, _named(name), tuple(options), oversubscribe)


def _named(name: str) -> installed.Mpi:
    asked = os.environ.get("NEARFAR_MPIRUN")
    seen = []
    for word in [asked] if asked else _PROGRAMS[name]:
        path = shutil.which(word)
        if path is None:
            continue
        mpi, version = installed.identify(path)
        if mpi == "slurm" and name == "srun":
            return installed.Mpi("slurm", version, path, "srun", "")
        if mpi is not None and mpi != "slurm" and ("openmpi" if mpi == "openmpi" else "mpich") == name:
            return installed.Mpi(mpi, version, path, _KINDS[name], "")
        seen.append(f"{path} is of another MPI")
    what = "; ".join(seen) or f"none of {', '.join(_PROGRAMS[name])} is on PATH"
    raise CouldNotJudge(f"--launcher {name}: {what}: load its module, or install it (Debian: {_PACKAGES[name]})")
