"""What may hang runs in a process of its own with its own time limit: even one that no signal ends takes nothing else with it.

A process that outlives its limit keeps the lock of its task. While it lives the task is not started again and counts as hung.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import text_or_empty

#: What is to be done, by its name.
Tasks = Mapping[str, Callable[[], Any]]
#: Seconds between two looks at processes that have not answered.
_STEP = 0.1
#: Seconds by which this process may be woken late before the machine counts as overloaded.
_LATE = 1.0
#: Seconds in which a process that is told to end does so.
_GRACE = 0.5
#: Share of the time for which a process may wait for a CPU before load, and not what it waits for, is to blame.
_STARVED = 0.25


@dataclass(frozen=True)
class TaskAnswer:
    """What became of a task."""

    #: What it returned; None where it did not.
    value: Any = None
    seconds: float = 0.0
    #: What it raised.
    error: Exception | None = None
    #: It neither returned nor raised anything, though it had the CPU that it wanted.
    hung: bool = False
    #: Neither, and it did not get the CPU or the memory that it wanted.
    cut_short: bool = False

    @property
    def answered(self) -> bool:
        """Whether it returned or raised something."""
        return not self.hung and not self.cut_short


@dataclass
class _Child:
    pid: int
    reading: int
    text: bytes = b""
    #: CPU time, waits for a CPU and major faults of each process of it, half-way to the limit.
    half: dict[str, tuple[float, float, int]] = field(default_factory=dict)


def answers(tasks: Tasks, limit: float, locks: Path) -> dict[str, TaskAnswer]:
    """What each task returned or raised within ``limit`` seconds; they run at the same time and are started in their order. ``locks``: the
    path of their locks, less ``.<task>.lock``. What tasks return and raise has to be picklable."""
    began, halved, late = time.monotonic(), False, False
    found: dict[str, TaskAnswer] = {}
    running: dict[str, _Child] = {}
    for name, task in tasks.items():
        held = lock(locks.with_name(f"{locks.name}.{name}.lock"), _GRACE)
        if held is None:
            found[name] = TaskAnswer(hung=True)
        else:
            running[name] = _start(task, limit)
            os.close(held)
    while running and (now := time.monotonic()) < began + limit:
        if not halved and now > began + limit / 2:
            halved = True
            for child in running.values():
                child.half = _usage(child.pid)
        ready = select.select([child.reading for child in running.values()], [], [], _STEP)[0]
        late |= time.monotonic() - now > _STEP + _LATE
        for name in [name for name, child in running.items() if child.reading in ready]:
            part = os.read(running[name].reading, 1 << 20)
            running[name].text += part
            if not part:
                child = running.pop(name)
                found[name] = _answer(child.text, time.monotonic() - began)
                _end(child)
    for name, child in running.items():
        starved = late or _starved(child, limit / 2)
        found[name] = TaskAnswer(seconds=limit, hung=not starved, cut_short=starved)
        _end(child)
    return {name: found[name] for name in tasks}


def lock(path: Path, patience: float = 0.0) -> int | None:
    """A lock that ends with its holders; None where one still has it after ``patience`` seconds. Nobody else can open the file.
    Raises ``OSError``."""
    handle, end = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            if time.monotonic() >= end:
                os.close(handle)
                return None
            time.sleep(0.05)


def _start(task: Callable[[], Any], limit: float) -> _Child:
    """Do a task in a child. SIGTERM is an exception there while a program runs in it, so that the program ends with it."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Child(pid, reading)
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1) if _children(os.getpid()) else os._exit(1))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(limit) + 10)  # should the parent be gone
        try:
            answer = pickle.dumps((task(), None))
        except Exception as error:  # a fault of one task must not hide what the others see
            answer = pickle.dumps((None, error))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
    finally:
        os._exit(0)


def _answer(text: bytes, seconds: float) -> TaskAnswer:
    try:
        value, error = pickle.loads(text)
    except Exception as broken:
        value, error = None, RuntimeError(f"its process ended without an answer ({type(broken).__name__})")
    return TaskAnswer(value, seconds, error)


def _end(child: _Child) -> None:
    """End a process and what it runs. One that waits for a program which cannot be ended is left with it, and keeps its lock."""
    os.close(child.reading)
    for number in (signal.SIGTERM, signal.SIGKILL):
        if number == signal.SIGKILL and _children(child.pid):
            return
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)
        end = time.monotonic() + _GRACE
        while time.monotonic() < end:
            if os.waitpid(child.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.01)


def _starved(child: _Child, seconds: float) -> bool:
    """Whether any process of a child wanted a CPU or memory and did not get it, in the ``seconds`` since half-way."""
    now = _usage(child.pid)
    for process, (cpu, waited, faults) in now.items():
        cpu_before, waited_before, faults_before = child.half.get(process, (cpu, waited, faults))
        state = (_stat(process) or [""])[0]
        ready = state == "R" and cpu - cpu_before < (1 - _STARVED) * seconds
        if ready or state in "Tt" or waited - waited_before > _STARVED * seconds or faults > faults_before:
            return True
    return not now  # then nobody can tell


def _usage(pid: int) -> dict[str, tuple[float, float, int]]:
    """Seconds of CPU time and of waits for a CPU, and major faults, of a process and all that it has started."""
    found, left = {}, [str(pid)]
    for process in left:
        left += _children(int(process))
        with suppress(OSError, ValueError, IndexError):
            cpu, waited = Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()[:2]
            found[process] = int(cpu) / 1e9, int(waited) / 1e9, int(_stat(process)[9])
    return found


def _children(pid: int) -> list[str]:
    return text_or_empty(Path(f"/proc/{pid}/task/{pid}/children")).split()


def _stat(process: str) -> list[str]:
    """What ``/proc/PID/stat`` says of a process behind its name, its state first."""
    return text_or_empty(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
