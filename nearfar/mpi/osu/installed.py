"""Where OSU Micro-Benchmarks and the MPI that they are linked with are on this machine, which versions, and what they can do
(by OSU's own help, and by ``ompi_info``).

In this order: ``NEARFAR_OSU`` (a folder), then the PATH (what a module or a Spack environment brings): the program
itself, or the ``libexec`` folder beside a ``bin``, where a Spack view has it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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


def find(name: str, folder: str) -> Path | None:
    """The absolute path of a benchmark (``osu_bw`` of ``pt2pt``), or None."""
    for place in _places(folder):
        program = place / name
        if shutil.which(program):  # is_file() raises where the directory may not be entered
            return program.absolute()
    return None


def _places(folder: str) -> Iterator[Path]:
    named = os.environ.get("NEARFAR_OSU")
    for prefix in [Path(named)] if named else []:
        for top in (prefix / _LIBEXEC, prefix / "mpi", prefix / "c" / "mpi", prefix):
            yield from (top / subfolder for subfolder in _FOLDERS[folder])
        yield prefix
    if named:
        return  # what the site names is what it gets
    for entry in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        yield Path(entry)
        yield from (Path(entry).parent / _LIBEXEC / subfolder for subfolder in _FOLDERS[folder])


def complaint() -> str:
    """Why there is no OSU, and the line that brings it."""
    named = os.environ.get("NEARFAR_OSU")
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


@dataclass(frozen=True)
class OsuSupport:
    """The options of a benchmark, from its help (``-h``)."""

    options: frozenset[str]
    ranges: bool

    @property
    def validates(self) -> bool:
        """Whether it can compare what arrived with what was sent."""
        return "c" in self.options

    @property
    def devices(self) -> bool:
        """Whether it was built with CUDA (or another accelerator)."""
        return "d" in self.options

    def sizes(self, least: int, most: int) -> list[str]:
        """The options that ask for messages from ``least`` to ``most`` bytes; old versions begin where they like."""
        return ["-m", f"{least}:{most}" if self.ranges else str(most)]

    def trial(self, reduces: bool) -> list[str]:
        """The options of a short run, which validates where it can. Reductions of characters overflow, and OSU then calls
        sound data wrong; of floats they do not."""
        options = ["-i", "3", "-x", "1"]
        if not self.validates:
            return options
        options += ["-c"]
        options += ["-u", "0"] if "u" in self.options else []
        options += ["-W", "4"] if "W" in self.options else []
        return options + (["-T", "mpi_float"] if reduces and "T" in self.options else [])


def read_help(text: str) -> OsuSupport:
    """What a benchmark's help offers."""
    options = frozenset(re.findall(r"^\s+-(\w)(?:,|\s)", text, re.MULTILINE))
    return OsuSupport(options, "[MIN:]MAX" in text)


def without_devices(mpi: Mpi, support: OsuSupport) -> str | None:
    """Why device buffers cannot be measured, with the line that brings what is missing; None where nothing speaks against it."""
    if not support.devices:
        return f"OSU was built without CUDA; {INSTALL_CUDA}"
    if mpi.implementation == "openmpi" and _says_no_cuda(mpi):
        return f"{mpi.name} was built without CUDA; {INSTALL_CUDA}"
    return None


def _says_no_cuda(mpi: Mpi) -> bool:
    command = [str(Path(mpi.launcher).with_name("ompi_info")), "--parsable", "--all"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "mpi_built_with_cuda_support:value:false" in done.stdout
