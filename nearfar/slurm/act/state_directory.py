"""The directory of the log and the lock of ``nearfar slurm act``: whose it must be, and one process at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files
from nearfar.slurm.findings import CLOCKS, ActLog
from nearfar.slurm.trust import Trust

#: Seconds to wait for another ``act``.
_PATIENCE = 10.0
CLOCK_SET_BACK = "the log's last line is later than this host's clock; set the clock first"


def prepare(state: Path) -> Path:
    """The state directory, made where it is missing; raises ``NearfarError`` unless it is this user's or root's alone."""
    files.make_directory(state, "name another --state DIR")
    place = state.resolve()
    try:
        Trust(Path("/"), {0, os.geteuid()}).directory(place)
    except CouldNotJudge as error:
        raise NearfarError(
            f"{str(error).removesuffix('; not counted')}; the log decides over nodes: name another --state DIR"
        ) from None
    if place.stat().st_mode & 0o022:
        raise NearfarError(f"{place}: others can write to it; the log decides over nodes: name another --state DIR")
    if not os.access(place, os.W_OK):
        raise NearfarError(f"{place}: this user cannot write there, or nobody can; name another --state DIR")
    return place


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """The only process that does anything about nodes. Raises ``CouldNotJudge`` where the log's last line is later than this host's
    clock: one that is written now would make all before it older than they are."""
    with files.file_lock(state / "lock", _PATIENCE):
        last = ActLog(state).last()
        if last is not None and last > time.time() + CLOCKS:
            raise CouldNotJudge(f"{state}: {CLOCK_SET_BACK}")
        yield
