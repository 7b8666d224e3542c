"""A sweep begun or resumed in a results directory, where one runs at a time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files, process, utc_text
from nearfar.slurm.controller import Slurm
from nearfar.slurm.results import make_for_all, result, results_directory
from nearfar.slurm.trust import own

from . import job_script, slurmctld, sweep_file
from .sweep_file import Sweep, SweepJob

_ELSEWHERE = "name another --results DIR"
#: A sweep's directory while it is made.
_BEGUN = ".begun"


@contextlib.contextmanager
def lock(results: Path) -> Iterator[None]:
    """Hold a results directory. Raises ``CouldNotJudge`` that names the holder where another sweep has it, and where others could forge
    results. A sweep that a retest has started ends with it, so that nobody holds the directory for a retest that was killed."""
    parent = os.environ.get(sweep_file.PARENT, "")
    if parent.isdecimal():
        process.end_with(int(parent))
    refuse_forgeable(results)
    try:
        make_for_all(results)
    except OSError as error:
        raise files.cannot_write(results, error, _ELSEWHERE) from None
    refuse_forgeable(results)
    path = results / ".lock"
    with files.file_lock(path, 0.0, _ELSEWHERE):
        with contextlib.suppress(OSError):  # a full disk: the next one is not told who
            path.write_text(f"sweep, process {os.getpid()} on {socket.gethostname()} since {utc_text()}")
        yield


def refuse_forgeable(results: Path) -> None:
    """Raise ``CouldNotJudge`` for a results directory in which others could forge results, or a link that leads nowhere."""
    link = next(filter(files.leads_nowhere, (results, *results.parents)), None)
    if link is not None:
        raise CouldNotJudge(f"{link}: a link that leads nowhere; {_ELSEWHERE}")
    try:
        if results.is_dir():
            own(results).directory(results)
    except CouldNotJudge as error:
        words = str(error).removesuffix("; not counted")
        raise CouldNotJudge(f"{words}: results there could be forged; chmod go-w it, or {_ELSEWHERE}") from None


def begin(sweep: Sweep) -> Sweep:
    """Make a sweep's directory, whole or not at all; returns the sweep."""
    folder = sweep.folder
    beside = folder.parent / _BEGUN
    try:
        shutil.rmtree(beside, ignore_errors=True)  # who began one was killed
        beside.mkdir()
        beside.chmod(0o755)
        for name in (job_script.JOBS, "nodes"):
            make_for_all(beside / name)
        job_script.text(sweep)  # a template that is wrong is told now
        files.write_atomically(beside / sweep_file.FILE, sweep.text, _ELSEWHERE, mode=0o644)
        os.rename(beside, folder)
    except OSError as error:
        raise files.cannot_write(folder, error, _ELSEWHERE) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return sweep


def resume(results: Path, name: str, slurm: Slurm, result_wait: float = 0.0) -> Sweep:
    """A sweep as it stands by what its jobs have left and what Slurm has of them, whatever its file knows: nodes without a result have
    their turn again, and jobs that are still in Slurm are waited for. Where its time is over it gets as much again. ``result_wait``:
    seconds that the result of a job that has ended is waited for. Raises ``NearfarError`` for a sweep of another cluster."""
    sweep, here = sweep_file.load(results / name), slurm.cluster()
    if here != sweep.cluster:
        words = "continue it there, or name that cluster's SLURM_CONF"
        raise NearfarError(f"sweep {name} is of cluster {sweep.cluster}, and this host's Slurm is {here}: {words}")
    begun, in_slurm = job_script.begun(sweep), job_script.in_slurm(slurmctld.jobs(slurm, sweep.lanes.values()))
    alive = {name for name, (attempt, state) in in_slurm.items() if not state.ended}
    left = _results(sweep)
    gone = [job for job in sweep.jobs.values() if job.outstanding and job.name not in alive]
    if any(left.get(job.name, 0) < job.attempt for job in gone):
        time.sleep(result_wait)
        left = _results(sweep)
    for job in sweep.jobs.values():
        attempt, state = in_slurm.get(job.name, (0, None))
        if state is not None and attempt >= job.attempt:
            job.job_id, job.state, job.reason = state.job_id, state.state, state.reason
        if left.get(job.name, 0) >= max(job.attempt, attempt if job.name in alive else 0):
            job.attempt, job.has_result, job.ended = left[job.name], True, True
            job.interrupted = was_interrupted(sweep, job)
        elif job.name in alive:
            job.attempt, job.ended = max(job.attempt, attempt), False
        else:
            used = max(begun.get(job.name, 0), job.attempt - (job.job_id is None))
            sweep.jobs[job.name] = SweepJob(job.nodes, used + 1)
    now, sweep = time.time(), replace(sweep, merged=False)
    if sweep.deadline <= now or any(job.waiting for job in sweep.jobs.values()):
        return replace(sweep, started=now, deadline=now + (sweep.deadline - sweep.started))
    return sweep


def _results(sweep: Sweep) -> dict[str, int]:
    """The latest attempt at each node or pair that has left a result."""
    found: dict[str, int] = {}
    for place in results_directory.folders(sweep.results, sweep.name):
        if results_directory.is_there(place / result.RESULT):
            found[place.parent.name] = max(found.get(place.parent.name, 0), int(place.name))
    return found


def _result(sweep: Sweep, job: SweepJob) -> Path:
    return result.place(sweep.results, sweep.name, job.name, job.attempt) / result.RESULT


def has_result(sweep: Sweep, job: SweepJob) -> bool:
    """Whether a job's attempt has left a result."""
    return results_directory.is_there(_result(sweep, job))


def was_interrupted(sweep: Sweep, job: SweepJob) -> bool:
    """Whether a job's attempt left a result before it was through, as that says, believed or not: it is judged when all are merged."""
    try:
        return bool(json.loads(_result(sweep, job).read_bytes())["interrupted"])
    except (OSError, ValueError, LookupError, TypeError):
        return False
