"""A sweep begun or resumed in a results directory, where one runs at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from nearfar.base import CouldNotJudge, NearfarError, files, process, utc_text
from nearfar.slurm.controller import node_names
from nearfar.slurm.results import make_for_all
from nearfar.slurm.trust import own

from . import found_again, job_script, sweep_file
from .sweep_file import Sweep, SweepJob

_ELSEWHERE = "name another --results DIR"
#: A sweep's directory while it is made.
_BEGUN = ".begun"


@contextlib.contextmanager
def lock(results: Path) -> Iterator[None]:
    """Hold a results directory. Raises ``CouldNotJudge`` that names the holder where another sweep has it.

    A sweep that a retest has started ends with it, so that nobody holds the directory for a retest that was killed.
    """
    parent = os.environ.get(sweep_file.PARENT, "")
    if parent.isdecimal():
        process.end_with(int(parent))
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
        except OSError as error:
            raise CouldNotJudge(
                f"{path}: cannot be locked: {error.strerror}; mount that file system with locks, or {_ELSEWHERE}"
            ) from None
        _tell_of_another_host(results, stream)
        try:
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()} since {utc_text()}")
            stream.flush()
        except OSError as error:
            raise files.cannot_write(path, error, _ELSEWHERE) from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # the directory may be gone by now
                stream.truncate(0)


def _tell_of_another_host(results: Path, stream: IO[str]) -> None:
    """Say on standard error that a sweep of another host may be at work: who ends in good order leaves no name, and not every
    file system's locks are seen by all hosts."""
    stream.seek(0)
    holder = stream.read().strip()
    if holder and f" on {socket.gethostname()} " not in holder:
        print(
            f"nearfar: {results}: {holder} did not end in good order here, or still runs and the lock is not seen from this host: then "
            "end it there first",
            file=sys.stderr,
        )


def _prepare(results: Path) -> None:
    """Make the results directory, or refuse one in which others could forge results."""
    _refuse_a_dead_link(results)
    try:
        make_for_all(results)
    except OSError as error:
        raise files.cannot_write(results, error, _ELSEWHERE) from None
    _refuse_forgeable(results)


def _refuse_a_dead_link(results: Path) -> None:
    link = next(filter(files.leads_nowhere, (results, *results.parents)), None)
    if link is not None:
        raise CouldNotJudge(f"{link}: a link that leads nowhere; {_ELSEWHERE}")


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
    _refuse_a_dead_link(results)
    above = next(path for path in (results, *results.parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        code = errno.EACCES if above.is_dir() else errno.ENOTDIR
        raise files.cannot_write(results, OSError(code, os.strerror(code)), _ELSEWHERE)
    if results.exists():
        _refuse_forgeable(results)


def _there_is_one(folder: Path) -> NearfarError:
    return NearfarError(f"{folder}: there is a sweep of that name; --resume {folder.name} continues it")


def begin(sweep: Sweep) -> Sweep:
    """Make a sweep's directory, whole or not at all; returns the sweep. Raises ``NearfarError`` where there is one of that name."""
    folder = sweep.folder
    if folder.exists():
        raise _there_is_one(folder)
    beside = folder.parent / _BEGUN
    try:
        shutil.rmtree(beside, ignore_errors=True)  # who began one was killed
        beside.mkdir()
        beside.chmod(0o755)
        for name in (job_script.JOBS, "nodes"):
            make_for_all(beside / name)
        for name, text in ((job_script.SCRIPT, job_script.text(sweep)), (sweep_file.FILE, sweep.text)):
            files.write_atomically(beside / name, text, _ELSEWHERE, mode=0o644)
        os.rename(beside, folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise files.cannot_write(folder, error, _ELSEWHERE) from None
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return sweep


def resume(results: Path, name: str, now: float) -> Sweep:
    """A sweep that was interrupted, or left nodes without a result: these have their turn again, and jobs that are still
    in Slurm are waited for. It gets as much time again as it had.

    Raises ``NearfarError`` for a copy of another sweep, whose jobs are that one's.
    """
    kept = sweep_file.load(results / name)
    original = sweep_file.original(kept.folder)
    if original is not None:
        raise NearfarError(f"{kept.folder}: a copy of sweep {original}; --resume {original} continues that one")
    done = found_again.results(kept)
    for job in kept.jobs.values():
        if done.get(job.name, 0) >= job.attempt:
            _with_result(kept, job, done[job.name])
        elif job.ended:
            kept.jobs[job.name] = SweepJob(job.nodes, job.attempt + (job.job_id is not None))
    again = replace(kept, resumed=True)
    if kept.deadline <= now or any(job.job_id is None for job in kept.jobs.values()):
        return replace(again, started=now, deadline=now + (kept.deadline - kept.started))
    return again


def _with_result(kept: Sweep, job: SweepJob, attempt: int) -> None:
    """Take over what an attempt has left, whether or not the file knew of its job."""
    job.attempt, job.has_result = attempt, True
    left = found_again.left(kept, job)
    slurms = left.get("slurm")
    number = slurms.get("job") if isinstance(slurms, dict) else None
    job.job_id = number if isinstance(number, int) else job.job_id
    job.interrupted = bool(left.get("interrupted"))
    # What ended a job early is Slurm's to say.
    job.ended = job.ended or job.job_id is None or not job.interrupted
