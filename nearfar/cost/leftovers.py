"""What a run leaves behind: found by a mark in its environment, and ended, wherever it has gone."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from nearfar.mpi import WATCHER

#: The mark: every process of a run has it in its environment, with a text of that run alone.
TOKEN = "NEARFAR_COST_RUN"
#: Seconds that processes may take to end by themselves once their run has ended.
_BY_ITSELF = 0.2
_LOOK = 0.02


def processes(token: str) -> dict[int, str]:
    """The living processes of a run: number and name. Those of other users, and what has emptied its environment, are not seen."""
    mark = f"{TOKEN}={token}".encode()
    names = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        folder = Path(entry.path)
        try:
            if entry.stat().st_uid != os.geteuid():
                continue
            # A process that has ended and is not yet waited for has an empty environment.
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                names[int(entry.name)] = (folder / "comm").read_text().strip()
        except OSError:  # gone meanwhile, or closed to us
            continue
    return names


def end(token: str, grace: float) -> tuple[str, ...]:
    """End all that is left of a run; returns the names of what did not end by itself. The watchers of its ranks are ours, and end by
    themselves."""
    until = time.monotonic() + _BY_ITSELF
    if not processes(token):
        time.sleep(_LOOK)  # one that is just being executed has no environment for a moment
    while _others(left := processes(token)) and time.monotonic() < until:
        time.sleep(_LOOK)
    behind = _others(left)
    if not behind:
        return ()
    _tell(behind, signal.SIGTERM)
    until = time.monotonic() + grace
    while _others(left := processes(token)) and time.monotonic() < until:
        time.sleep(_LOOK)
    _tell(_others(left), signal.SIGKILL)
    return tuple(sorted(behind.values()))


def _others(names: dict[int, str]) -> dict[int, str]:
    return {number: name for number, name in names.items() if name != WATCHER}


def _tell(numbers: dict[int, str], what: signal.Signals) -> None:
    for number in numbers:
        try:
            os.kill(number, what)
        except (ProcessLookupError, PermissionError):
            continue
