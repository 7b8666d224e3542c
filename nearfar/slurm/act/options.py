"""What the commands of ``nearfar slurm`` for people and ``act`` work on: a system's policy, results, health findings, the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nearfar import question
from nearfar.base import NearfarError, SiteFile, did_you_mean, site_directories, site_files
from nearfar.site import HEALTH, MPI_PAIRS, Policy, drain_policy

#: Where the ledger is, unless the caller names another directory.
STATE = Path("/var/lib/nearfar/act")


@dataclass(frozen=True)
class ActOptions:
    """The results of sweeps, the health findings (None: none), and the directory of the ledger."""

    policy: Policy
    results: Path | None
    health: Path | None
    state: Path = STATE

    def __post_init__(self) -> None:
        """What is written down names whole paths."""
        for name in ("results", "health", "state"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else path.absolute())


def read_policy(name: str | None) -> Policy:
    """The policy of a system: the one named, else the only one whose file has an ``act``."""
    found = site_files("systems", site_directories())
    opened = {}
    for system, path in found.items():
        if name in (None, system):
            file = SiteFile(path)
            if name is not None or "act" in (file.data or {}):
                opened[system] = file
    if name is not None and not opened:
        raise NearfarError(f"--system: no system file called '{name}'{did_you_mean(name, list(found))}")
    if len(opened) != 1:
        if not opened:
            raise NearfarError(
                "no file of site/systems/ allows `act` anything: write its section `act:` into your system's file, as "
                "docs/drains.md shows it (NEARFAR_SITE names your own directory), or name a file: --system NAME"
            )
        raise NearfarError(f"which system's `act`? {', '.join(opened)} have one; name the system: --system NAME")
    file = next(iter(opened.values()))
    file.check("system-1")
    return drain_policy.of_system(file, question.check_names())


def whole_name(check: str) -> str:
    """The check that a drain's reason names without its ``_check``."""
    names = (HEALTH, MPI_PAIRS, *question.check_names())
    return next((name for name in names if name.removesuffix("_check") == check), check)
