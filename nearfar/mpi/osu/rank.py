"""Binds one rank of an MPI job, writes down the binding in effect, and becomes the program.

What the launcher starts: ``python rank.py PLAN PROGRAM [ARGUMENT…]``. ``PLAN`` is a JSON file: for each rank ``cpus``,
``memory_nodes`` and ``environment``. Beside it the rank leaves ``PLAN.RANK``, one JSON object a line: the binding before
the program began, the binding that the program's process has while it runs (an MPI may bind its ranks itself), and when
it ended with which part of its time it had waited for its core. A rank that cannot be bound does not run: exit code 3.

It stands alone and imports little: it is started once for every rank.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

#: Where the launchers say which rank this is.
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
EXIT_UNBOUND = 3
#: Seconds between two looks at the binding of the running program: rare enough to disturb nothing.
_LOOK = 0.5
#: set_mempolicy and get_mempolicy: the C library has no function for them.
_SYSCALLS = {"x86_64": (238, 239), "aarch64": (237, 236), "ppc64le": (261, 260)}
#: Seconds between two looks where a process is elsewhere, or waiting for its end takes looking.
_POLL = 0.1
_BIND = 2
_MOST_NODES = 1024
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
_PR_SET_PDEATHSIG = 1


def bind_memory(nodes: Sequence[int]) -> bool:
    """Bind this process's memory to NUMA nodes; returns whether the kernel did (containers may forbid it)."""
    numbers = _SYSCALLS.get(platform.machine())
    if numbers is None or not nodes:
        return False
    mask = (ctypes.c_ulong * (_MOST_NODES // _WORD))()
    for node in nodes:
        mask[node // _WORD] |= 1 << (node % _WORD)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.syscall(ctypes.c_long(numbers[0]), _BIND, mask, ctypes.c_ulong(_MOST_NODES)) == 0)


def memory_in_effect() -> list[int] | None:
    """The NUMA nodes that this process's memory is bound to, or None where no policy binds it or nobody says."""
    numbers = _SYSCALLS.get(platform.machine())
    if numbers is None:
        return None
    mode = ctypes.c_int()
    mask = (ctypes.c_ulong * (_MOST_NODES // _WORD))()
    libc = ctypes.CDLL(None, use_errno=True)
    asked = libc.syscall(ctypes.c_long(numbers[1]), ctypes.byref(mode), mask, ctypes.c_ulong(_MOST_NODES), None, 0)
    if asked != 0 or mode.value != _BIND:
        return None
    return [node for node in range(_MOST_NODES) if mask[node // _WORD] >> (node % _WORD) & 1]


def status_list(process: object, key: str) -> str:
    """A list of numbers in /proc/PID/status, such as ``Mems_allowed_list``, as Linux writes it."""
    with open(f"/proc/{process}/status") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key + ":")), "")


def say(path: str, **words: object) -> None:
    """Append one line; the file is this rank's own."""
    with open(path, "a") as out:
        out.write(json.dumps({"time": time.time(), **words}) + "\n")


def watch(parent: int, path: str, bound: str) -> None:
    """Look at the running program now and then until it ends. Runs in a child of its own, off the rank's cores.

    ``bound`` are the CPUs that it should have. One that is elsewhere is looked at more often, so that the last look tells
    where it stayed: an hwloc that discovers the machine, as MPI libraries do when they begin, goes from CPU to CPU.
    """
    os.setsid()  # who ends the ranks ends their group, and the end is still to be written
    gone = _wait_for_end_of(parent)
    seen, wait, waited = "", _POLL, None
    while not gone(wait):
        waited = waited_for_core(parent) or waited
        now = _cpus(parent) or seen
        if now != seen:
            say(path, running=now)
            seen = now
        wait = _LOOK if now == bound else _POLL
    say(path, ended=True, waited=waited)


def waited_for_core(process: int) -> float | None:
    """Which part of its time a process was ready and another ran on its core; None where the kernel does not say."""
    try:
        with open(f"/proc/{process}/schedstat") as words:
            ran, waited = map(int, words.read().split()[:2])
    except (OSError, ValueError):
        return None
    return waited / (ran + waited) if ran + waited else None


def _cpus(process: int) -> str:
    """The CPUs that a process may run on, as Linux lists them; empty where it is gone."""
    try:
        return status_list(process, "Cpus_allowed_list")
    except OSError:
        return ""


def _wait_for_end_of(process: int) -> Callable[[float], bool]:
    """A function that waits for so many seconds at most and returns whether the parent has ended."""
    try:
        ended = os.pidfd_open(process)  # Linux 5.3
        return lambda seconds: bool(select.select([ended], [], [], seconds)[0])
    except (AttributeError, OSError):
        pass

    def poll(seconds: float) -> bool:
        until = time.monotonic() + seconds
        while os.getppid() == process and time.monotonic() < until:
            time.sleep(_POLL)
        return os.getppid() != process

    return poll


def main(arguments: Sequence[str]) -> int:
    """``PLAN PROGRAM [ARGUMENT…]``."""
    plan_file, program = arguments[0], list(arguments[1:])
    rank = next((int(os.environ[name]) for name in RANK_VARIABLES if os.environ.get(name, "").isdigit()), None)
    if rank is None:
        print(f"rank.py: none of {', '.join(RANK_VARIABLES)} is set: not started by an MPI launcher", file=sys.stderr)
        return EXIT_UNBOUND
    with open(plan_file) as text:
        plan = json.load(text)["ranks"]
    if rank >= len(plan):
        print(f"rank.py: rank {rank} of a plan of {len(plan)} ranks", file=sys.stderr)
        return EXIT_UNBOUND
    mine, path = plan[rank], f"{plan_file}.{rank}"
    everywhere = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, mine["cpus"])
    except OSError as error:
        words = f"rank {rank} cannot be bound to CPUs {mine['cpus']} on {socket.gethostname()}: {error.strerror}"
        print(f"rank.py: {words}", file=sys.stderr)
        say(path, unbound=words)
        return EXIT_UNBOUND
    bound = bind_memory(mine["memory_nodes"])
    cpus = status_list("self", "Cpus_allowed_list")
    say(
        path, rank=rank, pid=os.getpid(), host=socket.gethostname(), cpus=cpus,
        memory_bound=memory_in_effect() if bound else None, memory_allowed=status_list("self", "Mems_allowed_list"),
    )  # fmt: skip
    parent = os.getpid()
    if os.fork() == 0:
        # The launcher waits for its pipes to close, and the process manager's socket is not this child's.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(3, 4096)
        elsewhere = everywhere - set(mine["cpus"])
        if elsewhere:
            os.sched_setaffinity(0, elsewhere)
        watch(parent, path, cpus)
        os._exit(0)
    os.environ.update(mine["environment"])
    # A launcher that dies takes its ranks along.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execvp(program[0], program)
    raise AssertionError("exec returned")  # it does not


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
