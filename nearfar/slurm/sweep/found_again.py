"""Jobs of a sweep that its file does not know, found again: by the name of their output file in squeue, and by what they have left.

The file is written every few seconds, and whoever runs the sweep may be killed between two times. The name of a job's output file
holds the sweep's directory, the node and the attempt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, files
from nearfar.slurm.results import result, results_directory

from .job_script import JOBS
from .slurmctld import Controller, JobState
from .sweep_file import Sweep, SweepJob


def submitted(sweep: Sweep, waiting: Iterable[SweepJob], states: Iterable[JobState]) -> dict[str, tuple[int, int]]:
    """Of jobs that wait to be submitted, those that squeue shows all the same, by name: which attempt it is (the one that waits,
    or a later one), and the job's number."""
    found: dict[str, tuple[int, int]] = {}
    attempts = {job.name: job.attempt for job in waiting}
    here: dict[Path, bool] = {}
    for state in states:
        output = Path(state.output)
        name, attempt = _whose(output)
        if output.parent not in here:
            here[output.parent] = _same(output.parent, sweep.folder / JOBS)
        if here[output.parent] and name in attempts and attempt >= attempts[name]:
            found[name] = max(found.get(name, (0, 0)), (attempt, state.job_id))
    return found


def _whose(path: Path) -> tuple[str, int]:
    """The node or pair and the attempt that a file is of which a job has begun: its output, or a claim; attempt 0 for another file."""
    name, _, attempt = path.stem.rpartition(".")
    return name, int(attempt) if attempt.isdecimal() else 0


def refuse_another_cluster(sweep: Sweep, controller: Controller) -> None:
    """Raise ``NearfarError`` where the jobs of a sweep are another cluster's."""
    here = controller.cluster()
    if here != sweep.cluster:
        raise NearfarError(
            f"sweep {sweep.name} is of cluster {sweep.cluster}, and this host's Slurm is {here}: continue it there, or name that "
            "cluster's SLURM_CONF"
        )


def _same(one: Path, other: Path) -> bool:
    """Whether two names are of one directory, whatever links lead there."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def results(sweep: Sweep) -> dict[str, int]:
    """The latest attempt at each node or pair that has left a result."""
    found: dict[str, int] = {}
    for place in results_directory.folders(sweep.results, sweep.name):
        if (place / result.RESULT).exists():
            name = place.parent.name
            found[name] = max(found.get(name, 0), int(place.name))
    return found


def skip_begun(sweep: Sweep, waiting: Iterable[SweepJob]) -> None:
    """Let each job that Slurm does not know any more, and of which an attempt began and left no result, be the next attempt. What
    begins has an output file, or a claim."""
    jobs, folder = {job.name: job for job in waiting}, sweep.folder / JOBS
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        name, attempt = _whose(path)
        if name in jobs:
            jobs[name].attempt = max(jobs[name].attempt, attempt + 1)


def left(sweep: Sweep, job: SweepJob) -> Mapping[str, Any]:
    """What the result of a job's attempt says, believed or not; nothing where there is none. It is judged when all are merged."""
    place = result.place(sweep.results, sweep.name, job.name, job.attempt) / result.RESULT
    try:
        found = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def claim(results_directory: Path, sweep: str, job: SweepJob, number: str | None) -> None:
    """Write down that the job of Slurm with this number has an attempt's turn (None: no job; nothing is written).

    Raises ``CouldNotJudge`` where another job has it, or has left a result: a submission whose answer was lost may be there
    twice, and a node is measured once.
    """
    if number is None:
        return
    check_seen(results_directory, sweep)
    place = result.place(results_directory, sweep, job.name, job.attempt)
    path = results_directory / sweep / JOBS / f"{job.name}.{job.attempt}.claim"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(number)
    except FileExistsError:
        holder = path.read_text(encoding="utf-8", errors="replace")
        if holder != number:
            raise CouldNotJudge(
                f"{path}: job {holder or 'unknown'} has had this turn already; job {number} measured nothing"
            ) from None
    except OSError as error:
        raise files.cannot_write(path, error, "name another --results DIR") from None
    if place.exists():
        raise CouldNotJudge(f"{place}: there is a result already; it is kept, and job {number} measured nothing")


def check_seen(results_directory: Path, sweep: str) -> None:
    """Raise ``CouldNotJudge`` where a job does not see its sweep's directory: a result in another of its name would be lost."""
    folder = results_directory / sweep / JOBS
    if not folder.is_dir():
        raise CouldNotJudge(f"{folder}: not there for this node; is its file system mounted here? no result is left")
