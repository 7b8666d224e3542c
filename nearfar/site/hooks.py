"""The programs that a site wants to be told by, ``act: hooks`` of a system file: where they are, and whether they may be run."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


def hook_problem(program: str, users: Collection[int]) -> str | None:
    """Why a program may not be run, with what to do; None where it may: a file that can be executed, which nobody but ``users``
    (numbers) can change, nor put another in its place."""
    path = Path(program)
    try:
        real = path.resolve(strict=True)
        status = real.stat()
        places = dict.fromkeys((real, *real.parents, *path.absolute().parents))
        owners = [(place, place.lstat()) for place in places]
    except (OSError, RuntimeError) as error:
        return f"{program}: {getattr(error, 'strerror', None) or error}; write it, or name another"
    if not stat.S_ISREG(status.st_mode):
        return f"{program}: not a file; name a program"
    if not status.st_mode & 0o111:
        return f"{program}: not executable; chmod 0755 {program}"
    for place, found in owners:
        if found.st_uid not in users:
            return f"{place}: belongs to user {found.st_uid}, not to root or to who runs act; chown root {place}"
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if found.st_mode & 0o022 and not sticky and not stat.S_ISLNK(found.st_mode):
            return f"{place}: others can write to it (mode {stat.S_IMODE(found.st_mode):04o}); chmod go-w {place}"
    if not os.access(real, os.X_OK):
        return f"{program}: this user may not execute it; chmod 0755 {program}"
    return None
