"""What a call of ``nearfar slurm act`` looks at: the policy of a system, results, health findings, the log's directory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from nearfar import question
from nearfar.base import NearfarError, SiteFile, did_you_mean, site_directories, site_files
from nearfar.site import Policy, drain_policy

#: Where the lock and the log are, unless the caller names another directory.
STATE = Path("/var/lib/nearfar/act")


@dataclass(frozen=True)
class ActOptions:
    """What a call looks at: the results of sweeps, the health findings, and the directory of the lock and the log."""

    policy: Policy
    results: Path | None
    health: Path | None
    state: Path = STATE

    def __post_init__(self) -> None:
        """What is logged names whole paths."""
        for name in ("results", "health", "state"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else path.absolute())

    @property
    def readings(self) -> Path:
        """The file that keeps what was read of these results."""
        of = hashlib.blake2b(f"{self.policy.system}:{self.results}".encode(errors="surrogateescape"), digest_size=8)
        return self.state / f"readings-{of.hexdigest()}.json"


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
                "no file of site/systems/ says what `act` may do: write its section `act:` into your system's file, as "
                "docs/guide/slurm-act.md shows it (NEARFAR_SITE names your own directory), or name a file: --system NAME"
            )
        raise NearfarError(f"which system's `act`? {', '.join(opened)} have one; name the system: --system NAME")
    file = next(iter(opened.values()))
    file.check("system-1")
    return drain_policy.of_system(file, check_names())


def check_names() -> list[str]:
    """All checks of the pack."""
    return question.check_names()
