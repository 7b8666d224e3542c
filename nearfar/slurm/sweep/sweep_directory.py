"""A sweep begun or resumed in a results directory, where one runs at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import make_for_all, own, result

from . import job_script, state_file
from .state_file import SweepJob, SweepPlan, SweepState

_ELSEWHERE = "name another --results DIR"


@contextlib.contextmanager
def lock(results: Path) -> Iterator[None]:
    """Hold a results directory. Raises ``CouldNotJudge`` that names the holder where another sweep has it."""
    _prepare(results)
    path = results / ".lock"
    try:
        stream = open(path, "a+", encoding="utf-8")
    except OSError as error:
        raise files.cannot_write(path, error, _ELSEWHERE) from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise CouldNotJudge(
                f"{results}: another sweep is at work here ({stream.read().strip() or 'it does not say who'}); wait for it, or "
                "name another --results DIR"
            ) from None
        stream.truncate(0)
        stream.write(
            f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}"
        )
        stream.flush()
        try:
            yield
        finally:
            stream.truncate(0)


def _prepare(results: Path) -> None:
    """Make the results directory, or refuse one in which others could forge results."""
    try:
        make_for_all(results)
    except OSError as error:
        raise files.cannot_write(results, error, _ELSEWHERE) from None
    _refuse_forgeable(results)


def _refuse_forgeable(results: Path) -> None:
    try:
        own(results).directory(results)
    except CouldNotJudge as error:
        words = str(error).removesuffix("; not counted")
        raise CouldNotJudge(f"{words}: results there could be forged; chmod go-w it, or {_ELSEWHERE}") from None


def could_begin(results: Path, name: str) -> None:
    """Refuse what ``lock`` and ``begin`` would refuse of these two, as far as one can see without making anything."""
    _refuse_name(name)
    if (results / name).exists():
        raise _there_is_one(results / name)
    above = next(path for path in (results, *results.parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        code = errno.EACCES if above.is_dir() else errno.ENOTDIR
        raise files.cannot_write(results, OSError(code, os.strerror(code)), _ELSEWHERE)
    if results.exists():
        _refuse_forgeable(results)


def _refuse_name(name: str) -> None:
    if not node_names.NAME.fullmatch(name):
        raise NearfarError(f"--name {name}: letters, digits, '.', '_' and '-' alone; it names a directory and jobs")


def _there_is_one(folder: Path) -> NearfarError:
    return NearfarError(f"{folder}: there is a sweep of that name; --resume {folder.name} continues it")


def begin(results: Path, plan: SweepPlan, tasks: dict[str, SweepJob] | None = None) -> SweepState:
    """Make a sweep's directory; ``tasks`` where they are not one for each node. Raises ``NearfarError`` where there is one
    of that name."""
    _refuse_name(plan.sweep)
    folder = results / plan.sweep
    try:
        folder.mkdir()
        folder.chmod(0o755)
        for name in (job_script.JOBS, "nodes"):
            make_for_all(folder / name)
    except FileExistsError:
        raise _there_is_one(folder) from None
    except OSError as error:
        raise files.cannot_write(folder, error, _ELSEWHERE) from None
    job_script.write(folder, plan, results)
    made = SweepState(folder, plan, tasks or {node: SweepJob(node) for node in plan.nodes})
    made.save()
    return made


def resume(results: Path, name: str, now: float) -> SweepState:
    """A sweep that was interrupted, or left nodes without a result: these have their turn again, and jobs that are still
    in Slurm are waited for. It gets as much time again as it had."""
    kept = state_file.load(results / name)
    plan = kept.plan
    for task in kept.tasks.values():
        task.has_result = (result.place(results, name, task.node, task.attempt) / result.RESULT).exists()
        if task.has_result:
            task.ended = True
        elif task.ended:
            kept.tasks[task.node] = SweepJob(task.node, task.attempt + (task.job is not None), pair=task.pair)
    if plan.deadline <= now or any(task.job is None for task in kept.tasks.values()):
        plan = replace(plan, started=now, deadline=now + (plan.deadline - plan.started))
    return SweepState(kept.folder, plan, kept.tasks)
