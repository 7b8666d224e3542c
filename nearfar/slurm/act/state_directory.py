"""The directory of the log and the lock of ``nearfar slurm act``: whose it must be, one process at a time, and one host.

The lock (flock) holds between hosts on NFS, but not where it is mounted with ``local_lock``, nor on Lustre with ``localflock``.
Therefore the lock's file says who uses the directory, or did last, and another host is refused for an hour.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files, second_text, user_name, utc_text, utc_time
from nearfar.slurm.findings import CLOCKS, ActLog, Entry
from nearfar.slurm.trust import Trust, on_behalf

#: Seconds to wait for another ``act``.
_PATIENCE = 10.0
CLOCK_SET_BACK = "the log's last line is later than this host's clock; set the clock first"
#: Seconds after which another host may go on by itself.
_OTHERS = 3600.0
#: The file by which a person gives the directory to a host, whose name it holds.
TAKE_OVER = "take-over"
_USED = re.compile(r"(?P<host>\S+) \(process \d+\) since (?P<since>\S+)(?: until (?P<until>\S+))?")


def prepare(state: Path) -> Path:
    """The state directory, made where it is missing; raises ``NearfarError`` unless it is this user's or root's alone."""
    files.make_directory(state, "name another --state DIR")
    place = state.resolve()
    owner = place.stat().st_uid
    if owner not in (0, os.geteuid()) or (owner != os.geteuid() and not os.access(place, os.W_OK)):
        words = f"belongs to user {user_name(owner)}, and the log decides over nodes: type it as that user ({on_behalf.typed_as(owner)})"
        raise NearfarError(f"{place}: {words}, or name another --state DIR")
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
    _refuse_a_foreign_log(ActLog(place).path)
    return place


def _refuse_a_foreign_log(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise NearfarError(f"{path}: not a file (links are not followed); name another --state DIR")
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        whose = f"user {status.st_uid}'s, mode {stat.S_IMODE(status.st_mode):04o}"
        raise NearfarError(
            f"{path}: {whose}: others can write to it, and it decides over nodes; who knows that nobody has: "
            f"chown {os.geteuid()} {path} && chmod 644 {path}"
        )


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """The only process that does anything about nodes. Raises ``CouldNotJudge`` while another one holds the lock, on another host
    than the one that used the directory within the last hour, and where the log's last line is later than this host's clock:
    one that is written now would make all before it older than they are."""
    lock, here, since = state / "lock", socket.gethostname(), time.time()
    with files.file_lock(lock, _PATIENCE):
        logged = ActLog(state).last()
        if logged is not None and logged.at > since + CLOCKS:
            raise CouldNotJudge(f"{state}: {CLOCK_SET_BACK}")
        _one_host(state, lock, here, since, logged)
        who = f"{here} (process {os.getpid()}) since {utc_text(since)}"
        _write(lock, who)
        try:
            yield
        finally:
            _write(lock, f"{who} until {utc_text()}")


def _write(lock: Path, words: str) -> None:
    """A disk that is full is told by the log's next line."""
    with suppress(OSError):
        lock.write_text(f"{words}\n", encoding="utf-8")


def _one_host(state: Path, lock: Path, here: str, now: float, logged: Entry | None) -> None:
    used = _USED.match(lock.read_text(encoding="utf-8", errors="replace"))
    last = [] if used is None else [(_seconds(used["until"] or used["since"]), used["host"], used["until"] is None)]
    last += [] if logged is None else [(logged.at, str(logged.more.get("host", here)), False)]
    at, host, open_ = max(last, default=(0.0, here, False))
    if host == here:
        return
    taken = _taken_over(state / TAKE_OVER, here)
    if not taken and (open_ or abs(now - at) < _OTHERS):
        raise CouldNotJudge(
            f"{state}: used by host {host} ({'not ended' if open_ else 'until'}, {second_text(at)}), this is {here}: one host alone "
            f"decides over nodes. Go on there; or stop it there, and then here: echo {here} > {state / TAKE_OVER}"
        )
    ActLog(state).note("host_change", now, why="a person's word" if taken else "unused for an hour", before=host)
    (state / TAKE_OVER).unlink(missing_ok=True)


def _taken_over(path: Path, here: str) -> bool:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() == here
    except OSError:
        return False


def _seconds(text: str) -> float:
    """Seconds since 1970; 0 for a text that is no time."""
    try:
        return utc_time(text).timestamp()
    except ValueError:
        return 0.0
