"""Jobs that failed on this node while its driver logged errors, from Slurm's accounting: a reason to look, never evidence.

Asked only where the kernel's log had errors of the driver since the last look, so that slurmdbd hears of a node about as often as
its GPUs err.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearfar.base import NOT_JUDGED, plural

from . import messages
from .source import Now, Seen

#: Seconds that sacct may take.
LIMIT = 0.8
#: Seconds for which failed jobs are remembered.
DAY = 86400.0
#: Seconds before the last look that count as well: a job may end before its error is logged.
_BEFORE = 120.0


@dataclass(frozen=True)
class FailedJob:
    """A job that failed: its number, user, Slurm's state and end in seconds since 1970."""

    job: str
    user: str
    state: str
    end: float


def look(now: Now, sacct: Sequence[str] | None = None, wall: float | None = None) -> Seen:
    """Ask ``sacct`` where it is installed. ``sacct``: the program and its first arguments; ``wall``: the time, since 1970."""
    wall = time.time() if wall is None else wall
    if sacct is None:
        program = shutil.which("sacct")
        sacct = [program] if program else []
    if not sacct or not now.node:
        return Seen()
    command = [
        *sacct, f"--nodelist={now.node}", "--starttime=now-1days", "--endtime=now", "--state=F,NF,BF", "--allocations",
        "--noheader", "--parsable2", "--format=JobID,User,State,End",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, env={**os.environ, "SLURM_TIME_FORMAT": "%s"}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=LIMIT, text=True, errors="replace", check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Seen(unread=(f"jobs that failed here: sacct did not answer within {LIMIT:g} s",), past=now.past)
    except OSError as error:
        return Seen(unread=(f"jobs that failed here: sacct does not start: {error.strerror}",), past=now.past)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[0]
        return Seen(
            unread=() if "disabled" in said else (f"jobs that failed here: sacct: {said[:160]}",), past=now.past
        )
    since = wall - (max(0.0, now.at - float(now.past.get("at") or 0.0)) if now.same_boot else now.at) - _BEFORE
    return classify(now, parse(done.stdout), since, wall)


def parse(text: str) -> list[FailedJob]:
    """The lines of ``sacct``; what is none is passed over."""
    found = []
    for line in text.splitlines():
        parts = line.split("|")
        if len(parts) == 4 and parts[3].isdecimal():
            found.append(FailedJob(parts[0], parts[1], parts[2].split(" ")[0], float(parts[3])))
    return found


def classify(now: Now, jobs: Iterable[FailedJob], since: float, wall: float) -> Seen:
    """Jobs of two users or more within a day are DEGRADED; of one, a note: a program that fails makes the driver log errors too."""
    kept = now.past.get("failed")
    died = (
        {one[0]: one for one in kept if isinstance(one, list) and len(one) == 3 and wall - one[2] < DAY}
        if isinstance(kept, list)
        else {}
    )
    new = [job for job in jobs if job.end >= since and job.job not in died]
    died |= {job.job: [job.job, job.user, job.end] for job in new}
    users = {user for _, user, _ in died.values()}
    said = f"{plural(len(new), 'job')} failed beside errors of the driver"
    if not new:
        return Seen(said, past={"failed": list(died.values())})
    several = len(users) > 1
    finding = messages.JOBS_FAILED.finding(
        "jobs", verdict="" if several else NOT_JUDGED, count=len(new), jobs=[f"{job.job} ({job.state})" for job in new],
        total=len(died), users=len(users),
    )  # fmt: skip
    return Seen(
        said, (finding,) if several else (), () if several else (finding,), past={"failed": list(died.values())}
    )
