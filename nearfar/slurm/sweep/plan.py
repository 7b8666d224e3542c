"""The plan of a new sweep: nodes chosen, limits set, and what would be wrong said before anything is submitted."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, reports_directory
from nearfar.slurm.controller import Slurm, node_names

from . import begin_or_resume, job_script, nightly, node_selection, pairs_wanted, site_partition
from .levels import LEVELS
from .slurmctld import Controller, waited_for
from .sweep_file import Sweep, SweepOptions, jobs_for


def results_directory(wanted: Path | None) -> Path:
    """Where sweeps go: as asked, else ``reports/sweeps``."""
    return (wanted or reports_directory() / "sweeps").absolute()


def new_sweep(
    controller: Controller, results: Path, asked: SweepOptions, *, nodes: str | None = None, name: str | None = None,
    minutes: int | None = None, hours: float | None = None, mpi_pairs: bool | None = None,
) -> Sweep:  # fmt: skip
    """A sweep that has yet to begin in the directory ``results``; a nightly run without idle nodes has no jobs.

    ``nodes`` is a list in Slurm's form; None: all of the partition or reservation. ``minutes`` and ``hours`` None: as the level
    has them. ``name`` None: the time and the level. ``mpi_pairs`` None: as the level and the site's partition have it. A slurmctld
    that does not answer is waited for as long as a job still ends before the deadline. Raises ``NearfarError`` for what cannot be
    measured so.
    """
    environment = job_script.environment(os.environ)
    if nodes is not None:
        node_names.listed(nodes, "--nodes")
    level, now = LEVELS[asked.level], time.time()
    minutes, hours = minutes or level.minutes, level.hours if hours is None else hours
    if hours * 60 < minutes:
        raise NearfarError(f"--deadline {hours:g}: fewer hours than a job may take ({minutes} minutes)")
    name = name or time.strftime(f"%Y%m%dT%H%M%S-{asked.level}", time.gmtime(now))
    folder = begin_or_resume.place(results, name)

    def ask() -> Sweep:
        chosen = _chosen(controller, results, asked, nodes, mpi_pairs)
        return Sweep(
            **{f.name: getattr(asked, f.name) for f in fields(SweepOptions)}, folder=folder, minutes=minutes, started=now,
            deadline=now + hours * 3600, environment=environment, command=("nearfar", *sys.argv[1:]), **chosen,
        )  # fmt: skip

    return waited_for(ask, hours * 3600 - minutes * 60)


def _chosen(
    controller: Controller, results: Path, asked: SweepOptions, nodes: str | None, mpi_pairs: bool | None
) -> dict[str, Any]:
    """What of a new sweep Slurm's answers decide."""
    names = node_selection.choose(controller, asked.partition, nodes, asked.reservation)
    if asked.site_partition is not None:
        site_partition.refuse_unknown(asked.site_partition, names[0])
    if asked.options:
        controller.refuse_misused(asked.options)
    known, left_out = controller.nodes(), {}
    if asked.idle_only:
        left_out = {node: why for node in names if (why := node_selection.occupation(known.get(node))) is not None}
        names = nightly.longest_ago(results, [node for node in names if node not in left_out])
    no_pairs = pairs_wanted.reason_against(
        False if asked.idle_only else mpi_pairs, asked.level, names, asked.partition, asked.site_partition
    )
    gres = {node: listed for node in names if node in known and (listed := node_selection.gres(known[node]))}
    return {
        "jobs": jobs_for((node,) for node in names), "gres": gres, "left_out": left_out, "mpi_pairs": no_pairs is None,
        "no_pairs": no_pairs or "", "cluster": controller.cluster(),
    }  # fmt: skip


def controller() -> Controller:
    """The cluster that this host's Slurm commands speak to. Raises ``NearfarError`` where there is none, or it is too
    old."""
    slurm = Slurm(job_script.for_sbatch(os.environ))
    slurm.version()
    return Controller(slurm)


def dry_run(sweep: Sweep, print_line: Callable[[str], None]) -> None:
    """Say what would be submitted."""
    jobs = sweep.jobs.values()
    waiting = [job for job in jobs if job.job_id is None and not job.ended]
    which = node_names.fold(node for job in waiting for node in job.nodes) or "none"
    many = "" if len(jobs) == 1 else "s"
    print_line(f"sweep {sweep.name}: {len(jobs)} node{many} of {sweep.partition}; jobs are submitted for {which}")
    left = sum(job.outstanding for job in jobs)
    if left:
        print_line(f"waited for: {left} job{'' if left == 1 else 's'} that may still be in Slurm")
    print_line(
        f"at most {sweep.max_jobs} jobs at once, {sweep.minutes} minutes each; level {sweep.level}: {LEVELS[sweep.level].words}"
    )
    if sweep.mpi_pairs:
        print_line("then MPI between pairs of the nodes that are well; --no-mpi-pairs leaves it out")
    elif sweep.no_pairs:
        print_line(f"MPI between nodes is not measured: {sweep.no_pairs}")
    if waiting:
        output = job_script.output(Path(), waiting[0])
        options = job_script.submission(sweep, waiting[0], output, sweep.started)
        print_line(f"the first: sbatch {shlex.join(options)}")
