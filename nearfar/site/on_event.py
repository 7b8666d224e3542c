"""The program that a site wants to be told by, ``act: on_event`` of a system file: whether it may be run."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple


class ProgramProblem(NamedTuple):
    """Why a program may not be run: the place and what is wrong with it, and what to do."""

    place: str
    flaw: str
    remedy: str

    def __str__(self) -> str:  # noqa: D105
        return f"{self.place}: {self.flaw}; {self.remedy}"


def program_problem(program: str, users: Collection[int]) -> ProgramProblem | None:
    """Why a program may not be run; None where it may: a file that can be executed, which nobody but ``users``
    (numbers) can change, nor put another in its place."""
    path = Path(program)
    try:
        real = path.resolve(strict=True)
        status = real.stat()
        places = dict.fromkeys((real, *real.parents, *path.absolute().parents))
        owners = [(place, place.lstat()) for place in places]
    except (OSError, RuntimeError) as error:
        return ProgramProblem(program, str(getattr(error, "strerror", None) or error), "write it, or name another")
    if not stat.S_ISREG(status.st_mode):
        return ProgramProblem(program, "not a file", "name a program")
    if not status.st_mode & 0o111:
        return ProgramProblem(program, "not executable", f"chmod 0755 {program}")
    for place, owner in owners:
        if owner.st_uid not in users:
            flaw = f"belongs to user {owner.st_uid}, not to root or to who runs act"
            return ProgramProblem(str(place), flaw, f"chown root {place}")
        sticky = stat.S_ISDIR(owner.st_mode) and owner.st_mode & stat.S_ISVTX
        if owner.st_mode & 0o022 and not sticky and not stat.S_ISLNK(owner.st_mode):
            flaw = f"other users can write to it (mode {stat.S_IMODE(owner.st_mode):04o})"
            return ProgramProblem(str(place), flaw, f"chmod go-w {place}")
    if not os.access(real, os.X_OK):
        return ProgramProblem(program, "this user may not execute it", f"chmod 0755 {program}")
    return None
