"""One run of a program under a scheme: started, watched, ended with all that it started, and what came of it."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nearfar.base import CouldNotJudge, process
from nearfar.mpi import WATCHER, RankAccount, RankPlan, death, rank_files

from .case_folder import CaseFolder
from .launchers import Launcher
from .schemes import Scheme

#: Tells a program the scheme that it runs under.
SCHEME = "NEARFAR_SCHEME"
#: Seconds between SIGTERM and SIGKILL for a program that is ended.
GRACE = 2.0
#: The mark: every process of a run has it in its environment, with a text of that run alone.
TOKEN = "NEARFAR_COST_RUN"
#: Seconds that processes may take to end by themselves once their run has ended, and between two looks at them.
_BY_ITSELF, _GLANCE = 0.2, 0.02
#: Bytes of a run's output that are read: its end.
_MOST_OUTPUT = 64 << 20
#: Seconds between two looks at the running program.
_LOOK = 2.0
#: Seconds to wait for what the watchers of the ranks write after the end.
_LAST_WORDS = 0.5
#: What ends this process, and is held back while children are ended.
_ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_TERMINAL = (
    "not a tty", "not a terminal", "no tty", "failed tty", "inappropriate ioctl", "cannot open terminal", "terminal required", "/dev/tty",
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """A run as it ended. ``seconds`` is wall time; ``problem`` why it counts for nothing; ``ended_early``: its time was over.
    ``left`` are processes that it left behind, by name, which were ended."""

    seconds: float
    output: str
    bindings: tuple[RankAccount, ...]
    problem: str | None = None
    ended_early: bool = False
    left: tuple[str, ...] = ()


class Runner:
    """Starts a program under schemes. ``folder`` is one for its files, which the ranks see too; ``case`` what each run has a copy of."""

    def __init__(
        self, program: Sequence[str], launcher: Launcher, folder: Path, case: CaseFolder | None = None
    ) -> None:
        self.program = tuple(program)
        self.launcher = launcher
        self._folder = folder
        self._case = case or CaseFolder()
        self._count = 0

    def probe(self, scheme: Scheme, limit: float) -> Ended:
        """What a scheme brings into effect, without the program."""
        return self._start(scheme, ["true"], limit, None, probe=True)

    def run(self, scheme: Scheme, limit: float | None, tick: Callable[[float], None] | None = None) -> Ended:
        """Run the program for at most ``limit`` seconds; ``tick`` is called about every second with those that have passed."""
        return self._start(scheme, self.program, limit, tick, probe=False)

    def _start(
        self,
        scheme: Scheme,
        program: Sequence[str],
        limit: float | None,
        tick: Callable[[float], None] | None,
        probe: bool,
    ) -> Ended:
        self._count += 1
        own = self._folder / str(self._count)
        own.mkdir()
        plan, out, err = own / "plan", own / "out", own / "err"
        lone = self.launcher.mpi is None
        rank_files.write_plan(plan, _planned(scheme), (_LOOK, _LOOK), family=True, lone=lone, probe=probe)
        token = uuid.uuid4().hex
        bound = scheme.places is not None
        environment = {**os.environ, **self.launcher.environment(bound), SCHEME: scheme.name, TOKEN: token}
        command = [*self.launcher.command(scheme.ranks, bound), *rank_files.wrapper(plan), *program]
        where = None if probe else self._case.copied(own / "case")
        seconds, code, early, left = _ran(command, environment, out, err, where, limit, tick, token)
        written = self._case.written(where)
        output = "".join(_tail(stream) for stream in (out, written, err) if stream is not None and stream.is_file())
        bindings = rank_files.accounts(plan, scheme.ranks, 0.0 if probe else _LAST_WORDS)
        shutil.rmtree(own, ignore_errors=True)
        problem = None
        if early:
            problem = f"did not end within {limit:.0f} s, and was ended"
        elif code != 0:
            problem = _failure(code, output, bindings)
        return Ended(seconds, output, bindings, problem, early, left)


def _ran(
    command: Sequence[str], environment: dict[str, str], out: Path, err: Path, where: Path | None, limit: float | None,
    tick: Callable[[float], None] | None, token: str,
) -> tuple[float, int, bool, tuple[str, ...]]:  # fmt: skip
    """Wall seconds, exit code, whether its time was over, and what it left behind."""
    parent = os.getpid()

    def before_it_begins() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        process.end_with(parent)

    child: subprocess.Popen[bytes] | None = None
    left: tuple[str, ...] = ()
    early, ended = False, None
    with out.open("wb") as stdout, err.open("wb") as stderr:
        began = time.monotonic()
        try:
            with uninterrupted():  # until it is known which child there is to end
                child = subprocess.Popen(
                    list(command), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment, cwd=where,
                    start_new_session=True, preexec_fn=before_it_begins,
                )  # fmt: skip
            early = not _waited(child, began, limit, tick)
            ended = time.monotonic()
        except OSError as error:
            raise CouldNotJudge(f"{command[0]}: cannot be started: {error.strerror}") from None
        finally:
            # Whatever ends the wait, all that was started ends before anything else may.
            with uninterrupted():
                if child is not None and (ended is None or early):
                    process.end_group(child, GRACE)
                left = _end_left(token, GRACE)
                if child is not None:
                    process.end_group(child, 0.0)
    return ended - began, child.returncode, early, () if early else left


def _waited(
    child: subprocess.Popen[bytes], began: float, limit: float | None, tick: Callable[[float], None] | None
) -> bool:
    """Wait for the end of a child, at most until its time is over; returns whether it came. To the millisecond: a look at it now and
    then would be part of its time."""
    try:
        handle = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # Linux before 5.3
        handle = -1
    try:
        while True:
            passed = time.monotonic() - began
            left = None if limit is None else limit - passed
            if left is not None and left <= 0:
                return child.poll() is not None
            step = 1.0 if left is None else min(1.0, left)
            over = bool(select.select([handle], [], [], step)[0]) if handle >= 0 else _polled(child, step)
            if over:
                return True
            if tick is not None:
                tick(time.monotonic() - began)
    finally:
        if handle >= 0:
            os.close(handle)


def _polled(child: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and other ends of this process until the block is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _planned(scheme: Scheme) -> list[RankPlan]:
    if scheme.places is None:
        return [RankPlan()] * scheme.ranks
    return [replace(place, environment=_for_threads(place)) for place in scheme.places]


def _for_threads(place: RankPlan) -> dict[str, str]:
    """What the launch lines of ``nearfar bind`` tell OpenMP."""
    if place.cpus is None:
        return {}
    places = ",".join(f"{{{cpu}}}" for cpu in place.cpus)
    return {"OMP_NUM_THREADS": str(len(place.cpus)), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MOST_OUTPUT))
        return file.read().decode(errors="replace").replace("\r\n", "\n")


def _failure(code: int, output: str, bindings: Sequence[RankAccount]) -> str:
    unbound = next((binding.unbound for binding in bindings if binding.unbound), None)
    if unbound:
        return unbound
    died = death(output, {})
    if died is not None:
        how = died.words
    elif code < 0:
        how = f"was ended by signal {-code} ({signal.Signals(-code).name})"
    else:
        how = f"ended with exit code {code}"
    lines = [line.strip() for line in output.splitlines() if line.strip() and not set(line.strip()) <= set("-=*")]
    last = f": {lines[-1][:160]}" if lines and died is None else ""
    if any(word in output.lower() for word in _TERMINAL):
        last += " (it has no terminal and no input here: start it in its batch mode)"
    return how + last


def _processes(token: str) -> dict[int, str]:
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


def _end_left(token: str, grace: float) -> tuple[str, ...]:
    """End all that is left of a run; returns the names of what did not end by itself. The watchers of its ranks are ours, and end by
    themselves."""

    def left_after(seconds: float) -> dict[int, str]:
        until = time.monotonic() + seconds
        while True:
            left = {number: name for number, name in _processes(token).items() if name != WATCHER}
            if not left or time.monotonic() >= until:
                return left
            time.sleep(_GLANCE)

    if not _processes(token):
        time.sleep(_GLANCE)  # one that is just being executed has no environment for a moment
    behind = left_after(_BY_ITSELF)
    _signal_all(behind, signal.SIGTERM)
    _signal_all(left_after(grace) if behind else {}, signal.SIGKILL)
    return tuple(sorted(behind.values()))


def _signal_all(numbers: dict[int, str], what: signal.Signals) -> None:
    for number in numbers:
        try:
            os.kill(number, what)
        except (ProcessLookupError, PermissionError):
            continue
