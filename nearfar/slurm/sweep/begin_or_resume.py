"""A sweep begun or resumed in a results directory, where one runs at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files, utc_text
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import make_for_all, result
from nearfar.slurm.trust import own

from . import job_script, sweep_file
from .sweep_file import Sweep, SweepJob

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
        stream.write(f"process {os.getpid()} on {socket.gethostname()} since {utc_text()}")
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


def place(results: Path, name: str) -> Path:
    """The directory of a new sweep. Raises ``NearfarError`` for a name that is none."""
    if not node_names.NAME.fullmatch(name):
        raise NearfarError(f"--name {name}: letters, digits, '.', '_' and '-' alone; it names a directory and jobs")
    return results / name


def could_begin(sweep: Sweep) -> None:
    """Refuse what ``lock`` and ``begin`` would refuse of a sweep, as far as one can see without making anything."""
    if sweep.folder.exists():
        raise _there_is_one(sweep.folder)
    results = sweep.results
    above = next(path for path in (results, *results.parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        code = errno.EACCES if above.is_dir() else errno.ENOTDIR
        raise files.cannot_write(results, OSError(code, os.strerror(code)), _ELSEWHERE)
    if results.exists():
        _refuse_forgeable(results)


def _there_is_one(folder: Path) -> NearfarError:
    return NearfarError(f"{folder}: there is a sweep of that name; --resume {folder.name} continues it")


def begin(sweep: Sweep) -> Sweep:
    """Make a sweep's directory; returns the sweep. Raises ``NearfarError`` where there is one of that name."""
    folder = sweep.folder
    try:
        folder.mkdir()
        folder.chmod(0o755)
        for name in (job_script.JOBS, "nodes"):
            make_for_all(folder / name)
    except FileExistsError:
        raise _there_is_one(folder) from None
    except OSError as error:
        raise files.cannot_write(folder, error, _ELSEWHERE) from None
    job_script.write(sweep)
    sweep.save()
    return sweep


def resume(results: Path, name: str, now: float) -> Sweep:
    """A sweep that was interrupted, or left nodes without a result: these have their turn again, and jobs that are still
    in Slurm are waited for. It gets as much time again as it had."""
    kept = sweep_file.load(results / name)
    for job in kept.jobs.values():
        job.has_result = (result.place(results, name, job.name, job.attempt) / result.RESULT).exists()
        if job.has_result:
            job.ended = True
        elif job.ended:
            kept.jobs[job.name] = SweepJob(job.nodes, job.attempt + (job.job_id is not None))
    if kept.deadline <= now or any(job.job_id is None for job in kept.jobs.values()):
        return replace(kept, started=now, deadline=now + (kept.deadline - kept.started))
    return kept
