"""The plan of a new sweep: nodes chosen, limits set, and what would be wrong said before anything is submitted."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from nearfar.base import NearfarError, plural
from nearfar.slurm.controller import Slurm, node_names

from . import job_script, node_selection, slurmctld, sweep_file
from .levels import LEVELS
from .sweep_file import Sweep, SweepOptions, jobs_for

#: So many sweeps may have begun since one that was killed.
_RECENT = 10


def unfinished(results: Path, name: str | None, now: float) -> str | None:
    """The name of the sweep that a command has begun before, and that goes on where it is typed again: the one of its ``name``; without
    a name one of the last in ``results`` that the same command began, if it is within its time and its page is not made."""
    if name is not None:
        return name if (results / name).exists() else None
    for path in _newest_first(results)[:_RECENT]:
        with suppress(NearfarError):
            kept = sweep_file.load(path.parent)
            if kept.command == typed() and now < kept.deadline and not kept.merged:
                return kept.name
    return None


def _newest_first(results: Path) -> list[Path]:
    return sorted(results.glob(f"*/{sweep_file.FILE}"), key=lambda path: path.stat().st_mtime, reverse=True)


def refuse_other_options(kept: Sweep, asked: SweepOptions, nodes: str | None) -> None:
    """Raise ``NearfarError`` where a sweep of the same name was begun with other options."""
    others = [key for key, value in asdict(asked).items() if value != getattr(kept, key)]
    if nodes is not None and set(node_names.listed(nodes, "--nodes")) != {*kept.jobs, *kept.left_out}:
        others.append("nodes")
    if others:
        words = f"there is a sweep of that name, begun with other options ({', '.join(others)})"
        raise NearfarError(f"{kept.folder}: {words}; --resume {kept.name} continues it")


def new_sweep(
    slurm: Slurm, results: Path, asked: SweepOptions, *, nodes: str | None = None, name: str | None = None,
    minutes: int | None = None, hours: float | None = None, mpi_pairs: bool | None = None,
) -> Sweep:  # fmt: skip
    """A sweep that has yet to begin in the directory ``results``; a nightly run without idle nodes has no jobs. ``nodes`` is a list in
    Slurm's form; None: all of the partition or reservation. ``minutes`` and ``hours`` None: as the level has them. ``name`` None: the time
    and the level. ``mpi_pairs`` None: as the level and the site's partition have it. Raises ``NearfarError`` for what cannot be measured
    so."""
    environment = job_script.environment(os.environ)
    if nodes is not None:
        node_names.listed(nodes, "--nodes")
    level, now = LEVELS[asked.level], time.time()
    minutes, hours = minutes or level.minutes, level.hours if hours is None else hours
    if hours * 60 < minutes:
        raise NearfarError(f"--deadline {hours:g}: fewer hours than a job may take ({minutes} minutes)")
    name = name or time.strftime(f"%Y%m%dT%H%M%S-{asked.level}", time.gmtime(now))
    if not node_names.NAME.fullmatch(name):
        raise NearfarError(f"--name {name}: letters, digits, '.', '_' and '-' alone; it names a directory and jobs")
    names = node_selection.choose(slurm, asked.partition, nodes, asked.reservation)
    if asked.site_partition is not None:
        node_selection.refuse_unknown_partition(asked.site_partition, names[0])
    if asked.options:
        slurmctld.refuse_misused(slurm, asked.options)
    known = slurm.nodes()
    busy = {node: why for node in names if (why := node_selection.occupation(known.get(node))) is not None}
    if asked.idle_only:
        names = longest_ago(results, [node for node in names if node not in busy])
    else:  # a lane waits behind a busy node
        names.sort(key=lambda node: node in busy)
    no_pairs = node_selection.reason_against_pairs(
        False if asked.idle_only else mpi_pairs, asked.level, names, asked.partition, asked.site_partition
    )
    return Sweep(
        **asdict(asked), folder=results / name, minutes=minutes, started=now, deadline=now + hours * 3600, environment=environment,
        command=typed(), jobs=jobs_for((node,) for node in names), mpi_pairs=no_pairs is None, no_pairs=no_pairs or "",
        gres={node: listed for node in names if node in known and (listed := node_selection.gres(known[node]))},
        left_out=busy if asked.idle_only else {}, cluster=slurm.cluster(),
    )  # fmt: skip


def typed() -> tuple[str, ...]:
    """The command that was typed, without what does not change what is measured."""
    return ("nearfar", *(word for word in sys.argv[1:] if word not in ("--no-wait", "--json", "--dry-run")))


def longest_ago(results: Path, nodes: Iterable[str]) -> list[str]:
    """The nodes, those first that no sweep in ``results`` has measured, then by the last sweep that did."""
    wanted = list(nodes)
    unseen, order = set(wanted), []
    for sweep in _newest_first(results):
        measured = {place.parent.name for place in sweep.parent.glob("nodes/*/[0-9]*")} & unseen
        order += [node for node in wanted if node in measured]
        unseen -= measured
        if not unseen:
            break
    return [node for node in wanted if node in unseen] + order[::-1]


def dry_run(sweep: Sweep) -> str:
    """What would be submitted, in a few lines."""
    waiting = [job for job in sweep.jobs.values() if job.waiting]
    which = node_names.fold(node for job in waiting for node in job.nodes) or "none"
    left = sum(job.outstanding for job in sweep.jobs.values())
    lines = [
        f"sweep {sweep.name}: {plural(len(sweep.jobs), 'node')} of {sweep.partition}; jobs are submitted for {which}",
        *([f"waited for: {plural(left, 'job')} that may still be in Slurm"] if left else []),
        f"at most {sweep.max_jobs} jobs at once, {sweep.minutes} minutes each; level {sweep.level}: {LEVELS[sweep.level].words}",
    ]
    if sweep.mpi_pairs:
        lines.append("then MPI between pairs of the nodes that are well; --no-mpi-pairs leaves it out")
    if sweep.no_pairs:
        lines.append(f"MPI between nodes is not measured: {sweep.no_pairs}")
    if waiting:
        lines.append(f"the first: sbatch {shlex.join(job_script.submission(sweep, waiting[0], sweep.started))}")
    return "\n".join(lines)
