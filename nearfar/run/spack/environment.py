"""The pack's Spack environment for a partition, in a folder of its own below ``build/spack/``.

spack.yaml         the checkout's, with absolute paths
found/             what Spack found on this machine, where the site has no packages.yaml
spack.lock         what Spack solved; solved again where spack.yaml or one of its inputs changed
src/               a copy of the programs' sources: Spack leaves links among the sources that it builds
install.log        what Spack said when it had installed all of it; gone once something has changed
failed.log         what Spack said when it failed last
.spack-env/view/   the programs and OSU
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, cannot_write, file_lock, make_directory, say, write_atomically
from nearfar.site import Environment

from . import externals, lockfile
from .manifest import Manifest, manifest, sources
from .program import Spack

#: Seconds that one installation waits for another of the same environment.
_WAIT = 4 * 3600.0
#: Lines of Spack that tell how far it is.
_PROGRESS = ("==> Installing ", "==> Updating view", "==> Error")


@dataclass(frozen=True)
class SpackEnvironment:
    """A solved environment."""

    folder: Path

    @property
    def lock(self) -> lockfile.SpackLock:
        """What it was solved into. Raises ``NearfarError`` where ``spack.lock`` cannot be read."""
        return lockfile.read(self.folder / "spack.lock")

    @property
    def programs(self) -> Path:
        """The folder of nearfar's programs, as ``NEARFAR_PROGRAMS`` takes it."""
        return self.folder / ".spack-env" / "view" / "bin"

    @property
    def path(self) -> tuple[str, ...]:
        """Folders for the front of a PATH: the programs', then that of an MPI of the system's, which no view holds."""
        own = [p.prefix for p in self.lock.packages if p.name == self.lock.mpi and p.prefix.startswith("/")]
        return (str(self.programs), *(f"{prefix}/bin" for prefix in own))

    @property
    def installed(self) -> bool:
        """Whether all of it was installed, and nothing has changed since."""
        return (self.folder / "install.log").exists() and (self.programs / "nearfar-copy").exists()


def solve(spack: Spack, environment: Environment, features: Collection[str], system: str) -> SpackEnvironment:
    """The environment for a partition with these features and one of its programming environments; solved where it is not yet.

    It has CUDA where the nodes have GPUs (the feature ``gpu``), unless ``NEARFAR_CUDA=none``. The packages of the system are those of
    the site's ``packages.yaml`` (``NEARFAR_SPACK_SITE`` or ``site/systems/SYSTEM/``); where there is none, those that Spack finds
    here. Raises ``NearfarError`` with one line for whatever a user can fix.
    """
    wanted = manifest(spack, environment, features, system)
    made = SpackEnvironment(wanted.folder)
    with _locked(made):
        solved = _is_solved(made, wanted)
        if not solved:
            _solve(spack, wanted)
        if _copy_sources(wanted.folder / "src") or not solved:
            (wanted.folder / "install.log").unlink(missing_ok=True)
    return made


def install(spack: Spack, made: SpackEnvironment) -> None:
    """Let Spack build what is not there, with progress on standard error. Raises ``NearfarError`` as ``solve`` does."""
    with _locked(made):
        if made.installed:
            return
        own = [p.name for p in made.lock.packages if not p.prefix]
        mpi = next((f"{p.name} {p.version} in {p.prefix}" for p in made.lock.packages if p.name == made.lock.mpi), "")
        say(f"Spack installs {', '.join(own)}; the MPI is {mpi}")
        log = made.folder / "failed.log"
        # What cannot be fetched is told before anything is compiled.
        spack.run(["-e", str(made.folder), "fetch", "--missing"], "Spack did not fetch the sources", log=log)
        done = spack.run(
            ["-e", str(made.folder), "install", "--only-concrete"],
            "Spack did not install the environment",
            log=log,
            tell=lambda line: say(line.removeprefix("==> ").strip()) if line.startswith(_PROGRESS) else None,
        )
        write_atomically(made.folder / "install.log", done.stdout + done.stderr)
        say(f"installed in {done.seconds:.0f} s: {made.programs}")


@contextmanager
def _locked(made: SpackEnvironment) -> Iterator[None]:
    """Hold the environment's lock; a wait for another run is told."""
    file = made.folder.with_name(f"{made.folder.name}.lock")
    with ExitStack() as held:
        try:
            held.enter_context(file_lock(file, 1.0))
        except CouldNotJudge:
            say(f"waiting for another run, which solves or installs the same: {made.folder}")
            held.enter_context(file_lock(file, _WAIT))
        yield


def _is_solved(made: SpackEnvironment, wanted: Manifest) -> bool:
    """Whether what was wanted then is wanted now, no input is newer, and the system's packages are still where they were."""
    before = made.folder / "wanted.yaml"
    if not (made.folder / "spack.lock").exists() or not before.exists():
        return False
    if before.read_text(encoding="utf-8") != wanted.text:
        return False
    there = all(Path(p.prefix).is_dir() for p in made.lock.packages if p.prefix.startswith("/"))
    return there and all(path.stat().st_mtime <= before.stat().st_mtime for path in wanted.inputs)


def _solve(spack: Spack, wanted: Manifest) -> None:
    version = spack.need_version()
    make_directory(wanted.folder)
    (wanted.folder / "spack.lock").unlink(missing_ok=True)
    if wanted.look:
        _look(spack, wanted.folder / "found", wanted.cuda)
    for name in ("wanted.yaml", "spack.yaml"):
        write_atomically(wanted.folder / name, wanted.text)
    say(f"Spack {version} solves the environment {'with' if wanted.cuda else 'without'} CUDA (about a minute)")
    arguments = ["-e", str(wanted.folder), "concretize"]
    spack.run(arguments, "the environment cannot be solved", log=wanted.folder / "failed.log")


def _look(spack: Spack, into: Path, cuda: bool) -> None:
    """Write down what Spack finds on this machine. Raises ``NearfarError`` where an MPI, or CUDA that is needed, is not found."""
    mpi = os.environ.get("NEARFAR_SPACK_MPI") or "openmpi"
    missing = externals.write(spack, into, mpi, replace=True).missing
    if mpi in missing:
        remedy = "install one or load its module; NEARFAR_SPACK_MPI=mpich names another (docs/deploy.md)"
        raise NearfarError(f"Spack finds no {mpi} on this machine: {remedy}")
    if cuda and "cuda" in missing:
        remedy = "load its module or set CUDA_HOME; NEARFAR_CUDA=none leaves the GPUs out"
        raise NearfarError(f"Spack finds no CUDA on this machine: {remedy}")
    for name in missing:
        if name != "cuda":
            say(f"Spack finds no {name} on this machine, and builds it")


def _copy_sources(target: Path) -> bool:
    """Bring a copy up to the checkout's sources; whether anything was changed. The rest stays untouched: Spack compiles again what is
    newer than its last build."""
    source = sources()
    ours, theirs = _files(source), _files(target)
    changed = [n for n in ours if n not in theirs or not filecmp.cmp(source / n, target / n, shallow=False)]
    try:
        for name in theirs - ours:
            (target / name).unlink()
        for name in changed:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    except OSError as error:
        raise cannot_write(target, error) from None
    return bool(changed or theirs - ours)


def _files(top: Path) -> set[Path]:
    """The files below ``top`` but for the recipe; links that Spack leaves (``build-…``) are not followed."""
    paths = {path.relative_to(top) for path in top.rglob("*") if path.is_file()}
    return {path for path in paths if path.parts[0] != "spack_repo"}
