"""Children with time limits, ended together with everything they started.

A child gets a session (and so a process group) of its own. Whatever ends our wait (its end, the limit, Ctrl-C, a termination signal turned
into an exception) ends the whole group before control returns: SIGTERM, a grace period, SIGKILL.
"""

from __future__ import annotations

import ctypes
import io
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .errors import CouldNotJudge

#: Seconds between SIGTERM and SIGKILL.
GRACE = 2.0
#: Seconds of a wait after which the clock is looked at.
_TICK = 5.0
#: Linux: the signal that a process gets when the one that started it ends (prctl(2)).
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Finished:
    """How a child ended. ``returncode`` is negative for a signal; ``seconds`` is wall time."""

    returncode: int
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool

    @property
    def last_line(self) -> str:
        """The last line of standard error that is not blank: where a program that hangs was."""
        lines = [line.strip() for line in self.stderr.replace("\r", "\n").splitlines() if line.strip()]
        return lines[-1] if lines else ""


def end_group(child: subprocess.Popen[Any], grace: float) -> None:
    """End a child's whole process group and reap the child."""
    _signal_group(child.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=grace)
    # Also after a clean end: what the child left behind in its group must not outlive it.
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def run(
    command: Sequence[str],
    limit: float | None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    grace: float | None = None,
    on_stdout: Callable[[str], None] | None = None,
    on_stderr: Callable[[str], None] | None = None,
    newline: str | None = None,
    stdin: IO[str] | None = None,
) -> Finished:
    """Run ``command`` for at most ``limit`` seconds (None: no limit); its group is gone when this returns or raises.

    ``on_stdout`` and ``on_stderr`` see each line as it comes (from reader threads). ``env`` replaces the environment.
    ``newline``: what alone ends a line of standard output, as of ``open`` (None: a carriage return too, which is replaced).
    ``stdin``: an open file that it reads (None: an empty one). Raises ``CouldNotJudge`` when the program is missing or may not be executed.
    """
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL if stdin is None else stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            encoding="utf-8", errors="replace", env=None if env is None else dict(env), cwd=cwd, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise CouldNotJudge(f"{command[0]}: not found; ./validate lists the package that brings it") from None
    except OSError as error:
        raise CouldNotJudge(f"{command[0]}: cannot be started: {error.strerror}") from None
    out: list[str] = []
    err: list[str] = []
    timed_out = False
    readers: list[threading.Thread] = []
    try:
        assert isinstance(child.stdout, io.TextIOWrapper)
        child.stdout.reconfigure(newline=newline)
        readers += [_reader(child.stdout, out, on_stdout), _reader(child.stderr, err, on_stderr)]
        _wait(child, limit)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        end_group(child, GRACE if grace is None else grace)
    for reader in readers:
        reader.join(timeout=GRACE)
    return Finished(child.returncode, "".join(out), "".join(err), time.monotonic() - started, timed_out)


def _wait(child: subprocess.Popen[Any], limit: float | None) -> None:
    """``child.wait``, except that time in which this process itself was stopped, as by a scheduler, does not count."""
    while limit is not None and child.poll() is None:
        tick, began = min(limit, _TICK), time.monotonic()
        try:
            child.wait(timeout=tick)
        except subprocess.TimeoutExpired:
            limit -= min(time.monotonic() - began, 2 * tick)
            if limit <= 0:
                raise
    child.wait()


def _reader(stream: IO[str] | None, lines: list[str], tell: Callable[[str], None] | None) -> threading.Thread:
    assert stream is not None

    def read() -> None:
        with stream:
            for line in stream:
                lines.append(line)
                if tell is not None:
                    tell(line.rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def end_with(parent: int) -> None:
    """Have this process terminated when ``parent``, which started it, ends in whatever way; at once where that has happened."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
