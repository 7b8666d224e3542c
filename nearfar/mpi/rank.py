"""Binds one rank, writes down the binding in effect, and becomes the program.

What the launcher starts: ``python -I -S rank.py PLAN PROGRAM [ARGUMENT…]``. ``PLAN`` is a file of Python's marshal: ``variables`` (where
launchers say which rank this is), ``lone`` (no launcher: this is rank 0), ``probe`` (end in place of the program), ``family`` (look at all
that the program starts, not at its process alone), ``looks`` (seconds between two looks at the running program where it is as bound, and
where it is elsewhere), and for each rank ``cpus`` (None: as the launcher left them), ``policy`` (``bind``, ``interleave``, None),
``memory`` (NUMA nodes), ``must`` (whether it runs with that policy alone) and ``environment``. Beside it the rank leaves ``PLAN.RANK``, one
Python literal a line, each with its ``time``: the binding before the program began, the CPUs that the program had when it was looked at
(``running``, a line where they changed), and its end, with which part of its time it had waited for its core. A rank that cannot be bound
does not run: exit code 3. ``rank_files`` writes the one and reads the other.

It stands alone and imports little: it is started once for every rank of every run.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence

EXIT_UNBOUND = 3
EXIT_NOT_FOUND = 127
#: What the process that watches a rank is called (comm): it is none of the program's.
WATCHER = "nearfar-watch"
#: Seconds after the start of the first looks at the running program.
_FIRST_LOOKS = (0.05, 0.15, 0.3, 0.5, 1.0)
#: Seconds between two looks whether a process lives, where the kernel does not say.
_POLL = 0.1
#: Threads that one look reads at most.
_MOST_THREADS = 256
#: set_mempolicy and get_mempolicy: the C library has no function for them.
_SYSCALLS = {"x86_64": (238, 239), "aarch64": (237, 236), "ppc64le": (261, 260)}
_POLICIES = {"default": 0, "preferred": 1, "bind": 2, "interleave": 3, "local": 4}
_MODE_FLAGS = 0xE000
_MOST_NODES = 1024
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
_PR_SET_PDEATHSIG = 1


def set_memory(policy: str, nodes: Sequence[int]) -> str | None:
    """Set this process's memory policy, which its program inherits; returns why the kernel did not, None where it did."""
    numbers = _SYSCALLS.get(os.uname().machine)
    if numbers is None:
        return f"no memory policy is known on {os.uname().machine}"
    mask = (ctypes.c_ulong * (_MOST_NODES // _WORD))()
    for node in nodes:
        mask[node // _WORD] |= 1 << (node % _WORD)
    libc = ctypes.CDLL(None, use_errno=True)
    refused = libc.syscall(ctypes.c_long(numbers[0]), _POLICIES[policy], mask, ctypes.c_ulong(_MOST_NODES))
    return os.strerror(ctypes.get_errno()) if refused else None


def memory_in_effect() -> tuple[str, list[int]]:
    """This process's memory policy and its NUMA nodes; ``unreadable`` where nobody says."""
    numbers = _SYSCALLS.get(os.uname().machine)
    mode = ctypes.c_int()
    mask = (ctypes.c_ulong * (_MOST_NODES // _WORD))()
    libc = ctypes.CDLL(None, use_errno=True)
    if numbers is None or libc.syscall(
        ctypes.c_long(numbers[1]), ctypes.byref(mode), mask, ctypes.c_ulong(_MOST_NODES), None, 0
    ):
        return "unreadable", []
    name = next((name for name, value in _POLICIES.items() if value == mode.value & ~_MODE_FLAGS), str(mode.value))
    return name, [node for node in range(_MOST_NODES) if mask[node // _WORD] >> (node % _WORD) & 1]


def status_list(process: object, key: str) -> str:
    """A list of numbers in /proc/PROCESS/status, such as ``Mems_allowed_list``, as Linux writes it."""
    with open(f"/proc/{process}/status") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key + ":")), "")


def say(path: str, **words: object) -> None:
    """Append one line; the file is this rank's own."""
    with open(path, "a") as out:
        out.write(f"{dict(words, time=time.time())!r}\n")


def threads(process: int) -> Iterator[str]:
    """The threads of a process and of all that it started but this one, as ``PID/task/TID``; nothing where it is gone."""
    try:
        names = os.listdir(f"/proc/{process}/task")
    except OSError:
        return
    for thread in names:
        yield f"{process}/task/{thread}"
        try:
            with open(f"/proc/{process}/task/{thread}/children") as children_file:
                children = children_file.read().split()
        except OSError:
            continue
        for child in map(int, children):
            if child != os.getpid():  # the watcher itself
                yield from threads(child)


def numbers_in(text: str) -> set[int]:
    """The numbers of a Linux list."""
    spans = [part.split("-") for part in text.split(",") if part]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}


def cpus_of(process: int, family: bool) -> list[int]:
    """The CPUs that a process, or it and all that it started together, may run on; empty where it is gone."""
    lists = set()
    for count, thread in enumerate(threads(process) if family else [str(process)]):
        if count >= _MOST_THREADS:
            break
        try:
            lists.add(status_list(thread, "Cpus_allowed_list"))
        except OSError:
            continue
    return sorted(set().union(*map(numbers_in, lists))) if lists else []


def waited_for_core(process: int) -> float | None:
    """Which part of its time a process was ready and another ran on its core; None where the kernel does not say."""
    try:
        with open(f"/proc/{process}/schedstat") as schedstat:
            ran, waited = map(int, schedstat.read().split()[:2])
    except (OSError, ValueError):
        return None
    return waited / (ran + waited) if ran + waited else None


def wait_for_end_of(process: int) -> Callable[[float], bool]:
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


def watch(parent: int, path: str, bound: list[int], plan: dict[str, object]) -> None:
    """Look at the running program now and then until it ends, and write down what was seen: what discovers the machine, as MPI
    libraries do when they begin, goes from CPU to CPU for a moment, so that the last look counts."""
    os.setsid()  # who ends the ranks ends their group, and this is still to be written
    with open("/proc/self/comm", "w") as name:
        name.write(WATCHER)
    gone = wait_for_end_of(parent)
    looks = plan["looks"]
    assert isinstance(looks, tuple)
    began, times = time.monotonic(), iter(_FIRST_LOOKS)
    seen: list[int] = []
    waited: float | None = None
    while True:
        at = next(times, None)
        wait = looks[seen != bound]
        if gone(wait if at is None else max(0.0, began + at - time.monotonic())):
            break
        waited = waited_for_core(parent) or waited
        now = cpus_of(parent, bool(plan["family"])) or seen
        if now != seen:
            say(path, running=now)
            seen = now
    say(path, ended=True, waited=waited)


def watched(path: str, cpus: Sequence[int] | None, everywhere: set[int], plan: dict[str, object]) -> None:
    """Start the watcher of this process, off its own CPUs where there are others."""
    parent, bound = os.getpid(), sorted(os.sched_getaffinity(0))
    if os.fork() != 0:
        return
    try:
        # The launcher waits for its pipes to close, and the process manager's socket is not this child's.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(3, 4096)
        elsewhere = everywhere - set(cpus or ())
        if elsewhere:
            os.sched_setaffinity(0, elsewhere)
        watch(parent, path, bound, plan)
    finally:
        os._exit(0)


def bind(place: dict[str, object], everywhere: set[int]) -> str | None:
    """Put this process where the plan says; returns why that could not be, None where it is there."""
    cpus, policy, memory = place["cpus"], place["policy"], place["memory"]
    assert isinstance(memory, list)
    if isinstance(cpus, list):
        try:
            os.sched_setaffinity(0, cpus)
        except OSError as error:
            return f"cannot be bound to CPUs {','.join(map(str, cpus))}: {error.strerror}"
        if set(cpus) != os.sched_getaffinity(0):
            return f"CPUs {','.join(map(str, cpus))} are not all there, or outside the cpuset"
    if isinstance(policy, str):
        refused = set_memory(policy, memory)
        if refused and not place["must"]:
            return None  # as in containers; what is in effect is written down
        if refused:
            return f"the memory of NUMA nodes {','.join(map(str, memory))} cannot be had ({policy}): {refused}"
        if memory_in_effect() != (policy, memory):
            return f"memory policy {policy}:{','.join(map(str, memory))} is not in effect"
    return None


def main(arguments: Sequence[str]) -> int:
    """``PLAN PROGRAM [ARGUMENT…]``."""
    plan_file, program = arguments[0], list(arguments[1:])
    with open(plan_file, "rb") as file:
        plan = marshal.load(file)
    ranked = [os.environ[name] for name in plan["variables"] if os.environ.get(name, "").isdigit()]
    if not ranked and not plan["lone"]:
        print(
            f"nearfar: none of {', '.join(plan['variables'])} is set: not started by an MPI launcher", file=sys.stderr
        )
        return EXIT_UNBOUND
    rank = 0 if plan["lone"] else int(ranked[0])
    if rank >= len(plan["ranks"]):
        print(f"nearfar: rank {rank} of a plan of {len(plan['ranks'])} ranks", file=sys.stderr)
        return EXIT_UNBOUND
    place, path = plan["ranks"][rank], f"{plan_file}.{rank}"
    everywhere = os.sched_getaffinity(0)
    problem = bind(place, everywhere)
    if problem is not None:
        message = f"rank {rank} on {os.uname().nodename}: {problem}"
        say(path, unbound=message)
        print(f"nearfar: {message}", file=sys.stderr)
        return EXIT_UNBOUND
    os.environ.update(place["environment"])
    policy, nodes = memory_in_effect()
    say(
        path, rank=rank, pid=os.getpid(), host=os.uname().nodename, cpus=sorted(os.sched_getaffinity(0)), policy=policy, memory=nodes,
        memory_allowed=status_list("self", "Mems_allowed_list"), gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),
    )  # fmt: skip
    if plan["probe"]:
        return 0
    watched(path, place["cpus"], everywhere, plan)
    # A launcher that dies takes its ranks along.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        print(f"nearfar: {program[0]}: {error.strerror}", file=sys.stderr)
    return EXIT_NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
