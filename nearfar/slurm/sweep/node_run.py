"""What a sweep's job does on its node: the pack with ReFrame's local scheduler, its files on the node's own disk, one
result renamed into the shared directory."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar import history
from nearfar.base import CouldNotJudge, NearfarError, files, utc_text
from nearfar.question import QUICK, askable, asked_at
from nearfar.run import expected_cases, validation
from nearfar.site import SYSTEM, gpu_count, systems
from nearfar.slurm.results import RunInfo, publish_result, result

from . import slurm_jobs
from .sweep_file import LEVELS, PAIR, SweepJob


def run(results: Path, sweep: str, job: SweepJob, level: str, gpus: int | None = None) -> Path:
    """Measure this node, of a job's one or two, and leave its result; returns the result's place. ``gpus``: how many GPUs Slurm has on
    the node, None: as many as it says that the job has. An end by the scheduler (time limit, preemption, scancel) leaves what was
    measured until then, marked ``interrupted``. Raises ``NearfarError`` where there is nothing to leave."""
    place, level = result.place(results, sweep, job.name, job.attempt), PAIR if len(job.nodes) > 1 else level
    here = os.environ.get("SLURMD_NODENAME")
    if here is not None and here not in job.nodes:
        raise CouldNotJudge(f"this is node {here}, and the job is for {job.name}; nothing was measured")
    _check_programs()
    if "SLURM_JOB_ID" in os.environ:
        slurm_jobs.refuse_second(results, sweep, job)
    began, started = time.monotonic(), time.time()
    # The ranks of a pair's other node read files too.
    shared = results / sweep if len(job.nodes) > 1 else None
    with _disk(shared) as disk:
        # The history outlives the job, and is not where the node's own files are.
        os.environ.setdefault(history.VARIABLE, str(history.directory()))
        os.environ["NEARFAR_STATE"] = str(disk)
        run_directory = disk / f"{sweep}.{job.name}.{job.attempt}"  # the history calls the run so
        os.environ[systems.JOB_PARTITION] = _partition()
        slurms = os.environ.get("SLURM_GPUS_ON_NODE", "") if gpus is None else str(gpus)
        os.environ[gpu_count.VARIABLE] = "" if level == PAIR else slurms
        with contextlib.suppress(KeyboardInterrupt):  # the run's own account says that it was interrupted
            validation.run(_request(level, run_directory))
        perflogs = disk / "reports" / "perflogs"
        if perflogs.is_dir():
            try:
                files.copy_tree(perflogs, run_directory / "perflogs")
            except OSError as error:
                raise files.cannot_write(run_directory, error, "set TMPDIR to a directory") from None
        # The clock may be set while we measure; what lies between the two times is how long it took.
        info = RunInfo(nodes=job.nodes, hostname=socket.gethostname(), level=level, sweep=sweep, started=utc_text(started),
                       ended=utc_text(started + time.monotonic() - began), slurm=_job())  # fmt: skip
        if info.slurm is not None:
            slurm_jobs.check_seen(results, sweep)
        return publish_result.leave(run_directory, place, info)


def _check_programs() -> None:
    """Jobs build nothing: the programs must be there, and seen from here."""
    ready = os.environ.get("NEARFAR_PROGRAMS")
    if not ready or not Path(ready).is_dir():
        raise CouldNotJudge(
            f"NEARFAR_PROGRAMS: {f'{ready}: no such directory' if ready else 'not set'} on {socket.gethostname()}; a job builds "
            "nothing: ./validate --setup-only builds the programs, in a directory that all nodes see, and NEARFAR_PROGRAMS names "
            "its build/bin (nearfar slurm sweep sets it for its jobs)"
        )


@contextlib.contextmanager
def _disk(shared: Path | None) -> Iterator[Path]:
    """A directory that is gone afterwards: below ``shared``, else on the node (``TMPDIR`` names the disk)."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".measuring-" if shared else "nearfar-", dir=shared))
    except OSError as error:
        instead = "name another --results DIR" if shared else "set TMPDIR to a directory"
        raise files.cannot_write(shared or Path(tempfile.gettempdir()), error, instead) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _partition() -> str:
    site = systems.site()
    system = site.systems[site.here]
    systems.site.cache_clear()  # it is another once the partition is known
    return system.partition_of(os.environ.get("SLURM_JOB_PARTITION"))


def _request(name: str, report_directory: Path) -> validation.Request:
    level = LEVELS[name]
    # Pairs are judged together, by the sweep.
    request = validation.Request(acceptance=level.acceptance, must_judge=name != PAIR, quick=level.quick,
                                 report_directory=report_directory, command=("nearfar", *sys.argv[1:]))  # fmt: skip
    if not level.checks and not level.quick:
        return request
    site = systems.site()
    system = site.systems[site.here]
    known = asked_at(QUICK) if level.quick else askable()
    fitting = {case.check for case in expected_cases.expected(known, system)}
    wanted = level.instead if level.instead and _without_osu(system) else level.checks
    wanted = wanted or tuple(question.name for question in known)
    chosen = tuple(check for check in wanted if check in fitting)
    if not chosen:
        slurms = os.environ.get(gpu_count.VARIABLE, "0") or "0"
        gpus = "" if slurms == "0" else f"; Slurm has {slurms} GPU{'s' if slurms != '1' else ''} on this node"
        raise NearfarError(f"level {name}: none of its checks fits this node's partition ({', '.join(wanted)}){gpus}")
    return request if level.quick else replace(request, checks=chosen)


def _without_osu(system: systems.System) -> bool:
    """Whether OSU is not on the PATH, not named, and nothing in the site's file may bring it."""
    from nearfar.mpi.osu import installed

    if os.environ.get("NEARFAR_OSU") or installed.find("osu_latency", "pt2pt") is not None:
        return False
    brings = ("modules", "env_vars", "prepare_cmds")
    partitions = [p for p in system.partitions.values() if not p.modelled]
    return all(set(p.environs) <= {SYSTEM} and not any(map(p.reframe.get, brings)) for p in partitions)


def _job() -> dict[str, Any] | None:
    number, environ = os.environ.get("SLURM_JOB_ID", ""), os.environ
    if not number.isdigit():
        return None
    return {
        "job": int(number),
        "partition": environ.get("SLURM_JOB_PARTITION"),
        "cluster": environ.get("SLURM_CLUSTER_NAME"),
    }
