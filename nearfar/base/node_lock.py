"""One run measures on a node at a time: a lock that belongs to the machine, ends with its holder and says who that is.

It is a listening UNIX socket in Linux' abstract namespace, called after the host: no file, no rights, nothing that is left
behind. Who waits stays connected to it, and is woken by the holder's end. Programs that are started by hand do not ask for it,
and a container with a network of its own does not see it.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from . import lock_holder
from .errors import CouldNotJudge, NearfarError
from .lock_holder import Holder
from .standard_streams import say

#: Tells children that their run has the lock: ``<host>:<pid>`` of the holder.
HELD = "NEARFAR_NODE_LOCK"
#: How long a run waits for another one, in seconds; 60 unless it says otherwise.
WAIT = "NEARFAR_WAIT"
LONGEST = 7 * 86400.0
#: A word more in the lock's name: for parts of a node that may be measured at the same time.
PART = "NEARFAR_NODE_PART"

#: Seconds between two tries where nobody can be waited for.
_PAUSE = 0.1
#: Seconds that a holder may take to begin or to end: nobody listens meanwhile.
_BETWEEN = 1.0
_UNKNOWN = Holder()
#: Room for one connection of each process that asks: they are never answered. Kernels cap it.
_BACKLOG = 4096


def wait() -> float:
    """Seconds that a run waits. Raises ``NearfarError`` where the variable is no number of seconds."""
    text = os.environ.get(WAIT) or "60"
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LONGEST:
        raise NearfarError(f"{WAIT}: '{text}' is not a number of seconds from 0 to {LONGEST:g}")
    return seconds


@contextmanager
def held(limit: float, tell: Callable[[str], None] = say, trusted: Collection[int] = frozenset({0})) -> Iterator[None]:
    """Hold this node's lock, unless the run that this process belongs to holds it already; wait at most ``limit`` seconds.

    ``tell`` gets a line where it has to be waited for. Raises ``CouldNotJudge`` with who holds it. Where the system refuses such
    sockets, that is told, and nothing is held. Root waits for holders of ``trusted`` users alone: any user can take such a name.
    """
    lock = _taken(limit, tell, trusted)
    if lock is None:
        yield
        return
    before = os.environ.get(HELD)
    os.environ[HELD] = f"{socket.gethostname()}:{lock.pid if isinstance(lock, Holder) else os.getpid()}"
    try:
        yield
    finally:
        if isinstance(lock, socket.socket):
            lock.close()
        del os.environ[HELD]
        if before is not None:
            os.environ[HELD] = before


def _taken(limit: float, tell: Callable[[str], None], trusted: Collection[int]) -> socket.socket | Holder | None:
    """The lock, or who has it without being waited for; None where this run has it, or it cannot be had on this system."""
    end = time.monotonic() + limit
    reported = None
    while True:
        try:
            lock = _bound()
        except OSError as error:
            tell(
                f"no lock on this system ({error.strerror}): another run that measures at the same time is not noticed"
            )
            return None
        if lock is not None:
            return lock
        with socket.socket(socket.AF_UNIX) as line:
            listens, holder = _holder(line)
            # The variable alone may have come from another node, or outlived its run.
            if os.environ.get(HELD) == f"{socket.gethostname()}:{holder.pid}":
                return None
            left = end - time.monotonic()
            if os.geteuid() == 0 and holder.uid not in trusted and (holder != _UNKNOWN or left <= 0):
                tell(
                    f"this node's lock is held by {holder.words}; root does not wait for that user, and measures beside it"
                )
                return holder
            if not listens and left > -_BETWEEN:
                time.sleep(_PAUSE)
                continue
            if left <= 0:
                raise CouldNotJudge(
                    f"another run measures on this node: {holder.words}; waited {limit:g} s and measured nothing: try again when it "
                    f"has ended, or wait longer: --wait SECONDS ({WAIT})"
                )
            if holder != reported:
                tell(f"another run measures on this node: {holder.words}; waiting up to {left:.0f} s")
                reported = holder
            if holder == _UNKNOWN:
                time.sleep(min(_PAUSE, left))
            else:
                select.select([line], [], [], left)  # readable once the holder has ended


def _bound() -> socket.socket | None:
    """The lock, or None where somebody has it. Children do not inherit it."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(_name())
        lock.listen(_BACKLOG)
    except OSError as error:
        lock.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return lock


def _name() -> bytes:
    part = os.environ.get(PART)
    return f"\0nearfar-node-{socket.gethostname()}{f'-{part}' if part else ''}".encode()[:107]


def _holder(line: socket.socket) -> tuple[bool, Holder]:
    """Whether somebody listens, and who, asked through ``line``, which stays connected where it is known."""
    line.setblocking(False)
    try:
        line.connect(_name())
        return True, lock_holder.of(line)
    except ConnectionRefusedError:
        return False, _UNKNOWN
    except OSError:  # too many have asked this holder
        return True, _UNKNOWN
