"""Where OSU Micro-Benchmarks and the MPI that they are linked with are on this machine, and which versions.

In this order: ``NEARFAR_OSU`` (a folder), then the PATH (what a module or a Spack environment brings): the program
itself, or the ``libexec`` folder beside a ``bin``, where a Spack view has it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.binding import LAUNCHERS, MPIS, Mpi, launchers

#: How a site gets what is missing.
INSTALL = "spack install osu-micro-benchmarks (then spack load it, or set NEARFAR_OSU to its prefix)"
#: How a machine comes by an MPI.
INSTALL_MPI = "install an MPI (Debian: openmpi-bin libopenmpi-dev; other systems: openmpi-devel), or load its module"
INSTALL_CUDA = "spack install osu-micro-benchmarks+cuda ^openmpi+cuda fabrics=ucx ^ucx+cuda"
_LIBEXEC = Path("libexec", "osu-micro-benchmarks", "mpi")
#: Folders of one kind of benchmark, over the versions of OSU.
_FOLDERS = {"pt2pt": ("pt2pt", "pt2pt/standard"), "collective": ("collective", "collective/blocking")}


def find(name: str, folder: str, environment: Mapping[str, str] | None = None) -> Path | None:
    """The absolute path of a benchmark (``osu_bw`` of ``pt2pt``), or None."""
    env = os.environ if environment is None else environment
    for place in _places(folder, env):
        program = place / name
        if shutil.which(program):  # is_file() raises where the directory may not be entered
            return program.absolute()
    return None


def _places(folder: str, env: Mapping[str, str]) -> Iterator[Path]:
    named = env.get("NEARFAR_OSU")
    for prefix in [Path(named)] if named else []:
        for top in (prefix / _LIBEXEC, prefix / "mpi", prefix / "c" / "mpi", prefix):
            yield from (top / subfolder for subfolder in _FOLDERS[folder])
        yield prefix
    if named:
        return  # what the site names is what it gets
    for entry in filter(None, env.get("PATH", "").split(os.pathsep)):
        yield Path(entry)
        yield from (Path(entry).parent / _LIBEXEC / subfolder for subfolder in _FOLDERS[folder])


def complaint(environment: Mapping[str, str] | None = None) -> str:
    """Why there is no OSU, and the line that brings it."""
    env = os.environ if environment is None else environment
    named = env.get("NEARFAR_OSU")
    where = f"NEARFAR_OSU={named} holds no osu_latency" if named else "no osu_latency on the PATH"
    return f"OSU Micro-Benchmarks: {where}; {INSTALL}"


def lacking() -> dict[str, str]:
    """Which features this machine has not for lack of a program, each with what is missing (a look at the PATH, nothing is run).

    ``mpi``: OSU and something that starts its ranks; ``ranks``: an MPI that the pack's own programs can be built with. Raises
    ``NearfarError`` where ``NEARFAR_OSU`` names a folder without OSU.
    """
    missing = {}
    if find("osu_latency", "pt2pt") is None:
        if os.environ.get("NEARFAR_OSU"):
            raise NearfarError(f"{complaint()}; fix or unset the variable")
        missing["mpi"] = "there is no osu_latency on the PATH"
    elif not os.environ.get("NEARFAR_MPIRUN") and not _any_of([*launchers.programs(), *launchers.programs("srun")]):
        missing["mpi"] = "there is no mpirun, mpiexec or srun on the PATH"
    for program in ("mpirun", "mpicxx"):
        if not _any_of((program,)):
            missing["ranks"] = f"there is no {program} on the PATH"
    return missing


def _any_of(programs: Iterable[str]) -> bool:
    return any(map(shutil.which, programs))


def mpi_of(program: Path, environment: Mapping[str, str] | None = None) -> Mpi:
    """The MPI that a program is linked with, and the launcher that starts its ranks.

    ``NEARFAR_MPIRUN`` names the launcher; else the one beside the library, then the PATH's, then ``srun`` in a job. Raises
    ``CouldNotJudge`` where none of them belongs to the program's MPI: its ranks would not find each other.
    """
    env = os.environ if environment is None else environment
    library, implementation = _linkage(program)
    seen = []
    for launcher in _launchers(library, implementation, env):
        mpi, version = identify(launcher)
        if mpi in LAUNCHERS and mpi not in MPIS:
            return Mpi(implementation or "mpich", "", launcher, mpi, library)
        if mpi is not None and MPIS[mpi].launcher == MPIS[implementation or mpi].launcher:
            # What is made of MPICH shares libraries' names and the launcher.
            known = mpi if implementation is None or MPIS[implementation].version else implementation
            return Mpi(known, version, launcher, MPIS[mpi].launcher, library)
        seen.append(f"{launcher} is {launchers.title(mpi or 'of no known MPI')}")
    linked = f"{program} is linked with {launchers.title(implementation or 'an unknown MPI')} ({library})"
    raise CouldNotJudge(
        f"{linked} and {'; '.join(seen) or 'no mpirun is on the PATH'}: load the MPI that it was built with, or set NEARFAR_MPIRUN"
    )


def on_path() -> str:
    """The MPI whose launcher is found first, ``Open MPI 4.1.4``, whatever programs there are for it; empty: there is none."""
    try:
        identified = (identify(launcher) for launcher in _launchers("", None, os.environ))
        return next((f"{MPIS[mpi].title} {version}" for mpi, version in identified if mpi in MPIS), "")
    except CouldNotJudge:
        return ""


def _linkage(program: Path) -> tuple[str, str | None]:
    """The MPI library that the loader takes for a program, and whose it is."""
    done = _output(["ldd", str(program)])
    for line in done.splitlines():
        name, _, target = line.strip().partition(" => ")
        if not name.startswith("libmpi"):
            continue
        path = target.split(" (")[0].strip()
        if path == "not found":
            raise CouldNotJudge(f"{program}: {name} is not found: load the MPI that it was built with")
        real = os.path.realpath(path)
        files = (name, Path(real).name)
        named = (key for key, mpi in MPIS.items() if mpi.file and any(re.match(mpi.file, file) for file in files))
        return path, next(named, None)
    return "no MPI library", None


def _launchers(library: str, implementation: str | None, env: Mapping[str, str]) -> Iterator[str]:
    named = env.get("NEARFAR_MPIRUN")
    if named:
        program = shutil.which(named, path=env.get("PATH"))
        if program is None:
            raise CouldNotJudge(f"NEARFAR_MPIRUN={named}: no such program; fix or unset the variable")
        yield program
        return
    names = launchers.programs(None if implementation is None else MPIS[implementation].launcher)
    prefixes = [str(parent / "bin") for parent in Path(library).parents[:4]] if os.path.isabs(library) else []
    for path in (os.pathsep.join(prefixes), env.get("PATH", "")):
        for name in names:
            program = shutil.which(name, path=path) if path else None
            if program:
                # Open MPI takes its prefix from how it is called, and refuses the /bin that is a link to /usr/bin.
                yield str(Path(program).parent.resolve() / name)
    for row in LAUNCHERS.values():
        if env.get(row.job):
            yield from filter(None, (shutil.which(name, path=env.get("PATH")) for name in row.programs))


def identify(launcher: str) -> tuple[str | None, str]:
    """Whose launcher a program is (one of ``MPIS``, or ``srun``; None where nobody knows), and its version."""
    return launchers.identified(_output([launcher, "--version"]))


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
