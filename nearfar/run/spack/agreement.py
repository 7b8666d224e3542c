"""A plan in words, what is doubtful about it, and whether to go on."""

from __future__ import annotations

import sys
from collections.abc import Callable

from nearfar.base import NearfarError

from .installed import InstallPlan, SpackPackage

#: More packages than this mean that the site's own are not known to Spack: the pack's own are four.
FEW = 12
_MPIS = (
    "openmpi", "mpich", "mvapich", "mvapich2", "mvapich-plus", "cray-mpich", "intel-oneapi-mpi", "spectrum-mpi", "hpcx-mpi",
)  # fmt: skip
_EXTERNALS = "`nearfar spack externals --into site/systems/NAME`"


def describe(plan: InstallPlan) -> str:
    """One line a package, what would be built first, with its version, short hash and, of the system's, its place."""
    rows = sorted(plan.packages, key=lambda p: (p.there, p.external_prefix is not None, not p.asked))
    words = [
        (_state(p), p.name, p.version, p.hash[:7], "" if p.external_prefix is None else str(p.external_prefix))
        for p in rows
    ]
    widths = [max((len(row[column]) for row in words), default=0) for column in range(4)]
    return "".join("  ".join([*(w.ljust(n) for w, n in zip(row, widths)), row[4]]).rstrip() + "\n" for row in words)


def _state(package: SpackPackage) -> str:
    if package.external_prefix is not None:
        return "system's"
    return "installed" if package.there else "to build"


def count(plan: InstallPlan) -> str:
    """``4 packages to build (nearfar, …), 9 of the system``."""
    names = [package.name for package in plan.to_build]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    build = f"{len(names)} package{'' if len(names) == 1 else 's'} to build{f' ({shown})' if names else ''}"
    return f"{build}, {len(plan.external)} of the system"


def doubts(plan: InstallPlan) -> list[str]:
    """What a site hardly means: its MPI or CUDA not used, dozens of builds."""
    found = []
    building = {package.name: package for package in plan.to_build}
    for name in (name for name in _MPIS if name in building):
        words = f"{name} {building[name].version} would be built, and figures would be of that MPI, not of the site's"
        found.append(f"{words}; {_EXTERNALS} names the site's")
    if "cuda" in building:
        found.append(
            f"cuda {building['cuda'].version} would be fetched, several GB: {_EXTERNALS} names the site's, --no-cuda leaves it out"
        )
    if len(building) > FEW:
        found.append(
            f"{len(building)} packages would be built, which takes an hour or more; with externals it is about four"
        )
    return found


def agreement(yes: bool) -> Callable[[InstallPlan], bool]:
    """Shows a plan on standard error and decides: ``yes`` always goes on; a short plan without doubts too; otherwise a
    person at a terminal is asked, and where there is none ``NearfarError`` says what to give."""

    def decide(plan: InstallPlan) -> bool:
        doubtful = doubts(plan)
        print(f"nearfar: {count(plan)}", file=sys.stderr)
        for words in doubtful:
            print(f"nearfar: WARNING: {words}", file=sys.stderr, flush=True)
        if yes or not doubtful:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise NearfarError(
                f"{count(plan)}: not without your word; --yes goes on, `nearfar spack plan` shows all of it"
            )
        print("nearfar: go on? [y/N] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return decide


def unasked(plan: InstallPlan) -> bool:
    """For a place where nobody can be asked: goes on with a plan that raises no doubt. Raises ``NearfarError`` otherwise."""
    if doubts(plan):
        raise NearfarError(f"{count(plan)}: more than a run may start by itself; `nearfar spack install` first")
    return True
