"""The programs that a site wants to be told by, ``act: hooks`` of a system file: where they are, and whether they may be run."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: What a hook may be told of, by the hook's name in the system file.
HOOKS = ("on-finding", "on-drain", "on-release")


@dataclass(frozen=True)
class SiteHooks:
    """The program of each hook, by name, and the seconds that one call of it may take."""

    programs: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 10.0

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> SiteHooks:
        """Those of an ``act`` that was checked against its schema."""
        given = data.get("hooks", {})
        programs = {name: str(given[name]) for name in HOOKS if name in given}
        return cls(programs, float(given.get("seconds", cls.seconds)))


class HookProblem(NamedTuple):
    """Why a program may not be run: the place and what is wrong with it, and what to do."""

    place: str
    flaw: str
    remedy: str

    def __str__(self) -> str:  # noqa: D105
        return f"{self.place}: {self.flaw}; {self.remedy}"


def hook_problem(program: str, users: Collection[int]) -> HookProblem | None:
    """Why a program may not be run; None where it may: a file that can be executed, which nobody but ``users``
    (numbers) can change, nor put another in its place."""
    path = Path(program)
    try:
        real = path.resolve(strict=True)
        status = real.stat()
        places = dict.fromkeys((real, *real.parents, *path.absolute().parents))
        owners = [(place, place.lstat()) for place in places]
    except (OSError, RuntimeError) as error:
        return HookProblem(program, str(getattr(error, "strerror", None) or error), "write it, or name another")
    if not stat.S_ISREG(status.st_mode):
        return HookProblem(program, "not a file", "name a program")
    if not status.st_mode & 0o111:
        return HookProblem(program, "not executable", f"chmod 0755 {program}")
    for place, owner in owners:
        if owner.st_uid not in users:
            flaw = f"belongs to user {owner.st_uid}, not to root or to who runs act"
            return HookProblem(str(place), flaw, f"chown root {place}")
        sticky = stat.S_ISDIR(owner.st_mode) and owner.st_mode & stat.S_ISVTX
        if owner.st_mode & 0o022 and not sticky and not stat.S_ISLNK(owner.st_mode):
            flaw = f"others can write to it (mode {stat.S_IMODE(owner.st_mode):04o})"
            return HookProblem(str(place), flaw, f"chmod go-w {place}")
    if not os.access(real, os.X_OK):
        return HookProblem(program, "this user may not execute it", f"chmod 0755 {program}")
    return None
