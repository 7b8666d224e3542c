"""The pack's environment, solved and installed: at once where nothing changed since the last time."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nearfar.base import Finished, NearfarError, lock, make_directory, write_atomically

from . import environment
from .environment import Wanted
from .failures import failed
from .found import Spack
from .installed import Installed, InstallPlan, SpackPackage
from .lockfile import packages
from .locks import need_locks

#: What an environment's folder holds once it is installed: the sources it was built from.
_STAMP = "nearfar.json"
_LOG = "spack.log"
#: Seconds that one installation waits for another of the same environment.
_WAIT = 4 * 3600.0
#: Environments that are kept: those used within so many seconds, and the last ones in any case.
_IN_USE = 30 * 86400.0
_KEPT = 4
#: Lines of Spack that tell how far it is.
_PROGRESS = ("==> Installing ", "==> Updating view", "==> Error")


def say(words: str) -> None:
    """One progress line on standard error."""
    print(f"nearfar: {words}", file=sys.stderr, flush=True)


def ensure(
    spack: Spack,
    cuda: bool,
    cuda_arch: str | None = None,
    *,
    site: Path | None = None,
    mirror: str | None = None,
    tree: Path | None = None,
    agree: Callable[[InstallPlan], bool] | None = None,
    again: bool = False,
) -> Installed:
    """Install nearfar's programs, OSU, and what the system lacks of MPI, hwloc, numactl (and CUDA); progress to stderr.

    ``cuda_arch``: such as ``90`` or ``80,90``; None: what the site's ``packages.yaml`` says, else the pack's own list.
    ``site``: a folder of Spack configuration (``packages.yaml`` with externals, ``mirrors.yaml`` …). ``mirror``: a
    source mirror, a folder or URL. ``tree``: see ``Wanted.install_tree``. ``agree`` sees the plan before anything is built
    and may decline. ``again``: solve again though nothing changed. Raises ``NearfarError`` with one line for whatever a
    user can mend.
    """
    wanted = Wanted(cuda, cuda_arch, site, mirror, tree)
    folder = environment.base() / environment.key(spack, wanted)
    sources = environment.sources_hash()
    kept = None if again else _kept(folder, sources)
    if kept is not None:
        return kept
    need_locks(spack, wanted.install_tree)
    with lock(folder.with_name(f"{folder.name}.lock"), _WAIT):
        kept = None if again else _kept(folder, sources)  # by another process, while we waited
        if kept is not None:
            return kept
        plan = _solve(spack, wanted, folder, again)
        if plan.to_build and agree is not None and not agree(plan):
            raise NearfarError("nothing was installed, as you said")
        return _install(spack, folder, sources)


def plan(
    spack: Spack,
    cuda: bool,
    cuda_arch: str | None = None,
    *,
    site: Path | None = None,
    mirror: str | None = None,
    tree: Path | None = None,
    again: bool = False,
) -> InstallPlan:
    """What ``ensure`` would do: solved, nothing installed. Arguments and errors are those of ``ensure``."""
    wanted = Wanted(cuda, cuda_arch, site, mirror, tree)
    folder = environment.base() / environment.key(spack, wanted)
    with lock(folder.with_name(f"{folder.name}.lock"), _WAIT):
        return _solve(spack, wanted, folder, again)


def _solve(spack: Spack, wanted: Wanted, folder: Path, again: bool) -> InstallPlan:
    """Stage the environment and let Spack solve it, unless it is solved."""
    if again:
        shutil.rmtree(folder, ignore_errors=True)
    environment.stage(wanted, folder)
    if not (folder / "spack.lock").exists():
        spack.need_solver(say)
        began = time.monotonic()
        say(
            f"Spack {spack.version} solves the environment {'with' if wanted.cuda else 'without'} CUDA (about a minute)"
        )
        _spack(spack, folder, ["concretize"], "the environment cannot be solved")
        say(f"solved in {time.monotonic() - began:.0f} s")
    there = spack.run(["-e", str(folder), "find", "--format", "{hash}"]).stdout.split()
    return InstallPlan(folder, packages(folder / "spack.lock", there))


def _install(spack: Spack, folder: Path, sources: str) -> Installed:
    began = time.monotonic()
    try:
        _spack(spack, folder, ["install", "--only-concrete"], "Spack did not install the environment")
    except NearfarError:
        environment.forget_build(folder)
        raise
    found = [package._replace(there=True) for package in packages(folder / "spack.lock")]
    view = _view(folder)
    if not (view / "bin" / "nearfar-stream").exists():
        raise failed("Spack made no view of nearfar's programs", (folder / _LOG).read_text(), folder / _LOG)
    stamp = {"spack": spack.version, "sources": sources, "packages": found}
    write_atomically(folder / _STAMP, json.dumps(stamp, default=str, indent=1) + "\n")
    say(f"installed in {time.monotonic() - began:.0f} s: {view}")
    _forget_old(folder)
    return Installed(view, found, folder)


def _view(folder: Path) -> Path:
    return folder / ".spack-env" / "view"


def _kept(folder: Path, sources: str) -> Installed | None:
    """What the last installation left, if it is of these sources and all of it is still there."""
    try:
        stamp: dict[str, Any] = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
        if stamp["sources"] != sources:
            return None
        found = [SpackPackage(n, v, h, None if e is None else Path(e), a, t) for n, v, h, e, a, t in stamp["packages"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    view = _view(folder)
    prefixes = [p.external_prefix for p in found if p.external_prefix is not None and p.external_prefix.is_absolute()]
    if not (view / "bin" / "nearfar-stream").exists() or not all(prefix.is_dir() for prefix in prefixes):
        return None
    try:
        os.utime(folder / _STAMP)
    except OSError:
        pass  # another user's, or read-only: it stays as old as it is
    return Installed(view, found, folder, kept=True)


def _spack(spack: Spack, folder: Path, arguments: list[str], problem: str) -> Finished:
    """Run Spack in the environment; its whole output goes to spack.log, its progress to standard error."""

    def tell(line: str) -> None:
        if line.startswith(_PROGRESS):
            say(line.removeprefix("==> ").strip())

    began = time.monotonic()
    done = spack.run(["-e", str(folder), *arguments], None, tell)
    log = folder / _LOG
    output = (
        f"$ spack -e {folder} {' '.join(arguments)}   # {time.monotonic() - began:.0f} s\n{done.stdout}{done.stderr}"
    )
    write_atomically(log, output)
    if done.returncode != 0:
        raise failed(problem, done.stdout + done.stderr, log)
    return done


def _forget_old(present: Path) -> None:
    """Remove environments that nobody used for long; what they installed stays in the tree."""
    made = [stamp.parent for stamp in make_directory(present.parent).glob(f"*/{_STAMP}") if stamp.parent != present]
    made.sort(key=lambda folder: (folder / _STAMP).stat().st_mtime, reverse=True)
    for folder in made[_KEPT - 1 :]:
        if time.time() - (folder / _STAMP).stat().st_mtime > _IN_USE:
            shutil.rmtree(folder, ignore_errors=True)
