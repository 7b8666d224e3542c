"""Processes that are stopped for a while, as a scheduler suspends a job."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def tree_of(pid: int) -> list[int]:
    """A process and all that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in tree_of(int(child)))]


def suspend(pid: int, seconds: float) -> None:
    """Stop a process and all that it has started, and let them go on after so many seconds."""
    stopped = tree_of(pid)
    for each in stopped:
        os.kill(each, signal.SIGSTOP)
    time.sleep(seconds)
    for each in reversed(stopped):
        os.kill(each, signal.SIGCONT)
