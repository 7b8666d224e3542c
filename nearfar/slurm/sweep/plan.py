"""A sweep from its orders to its page: nodes chosen, jobs submitted and waited for, results merged, one exit code."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NearfarError, reports_directory
from nearfar.slurm.controller import Slurm, node_names
from nearfar.slurm.results import own

from . import job_script, nightly, node_selection, pairs_wanted, site_partition
from .job_loop import Pace, SweepLoop
from .levels import LEVELS
from .progress import SweepProgress
from .slurmctld import Controller
from .state_file import SweepJob, SweepPlan, SweepState


@dataclass(frozen=True)
class SweepOptions:
    """What a sweep is asked for. ``nodes`` is a list in Slurm's form; None: all of the partition or reservation.

    ``minutes`` and ``hours`` None: as the pack has them. ``name`` None: the time and the pack. ``options`` go to sbatch.
    ``mpi_pairs`` None: as the pack and the site's partition have it.
    """

    partition: str
    nodes: str | None = None
    reservation: str | None = None
    pack: str = "accept"
    window: int = 32
    results: Path | None = None
    name: str | None = None
    minutes: int | None = None
    hours: float | None = None
    site_partition: str | None = None
    options: tuple[str, ...] = ()
    idle_only: bool = False
    mpi_pairs: bool | None = None


def results_directory(wanted: Path | None) -> Path:
    """Where sweeps go: as asked, else ``reports/sweeps``."""
    return (wanted or reports_directory() / "sweeps").absolute()


def make_plan(orders: SweepOptions, controller: Controller) -> SweepPlan:
    """The plan of a new sweep; of a nightly run without idle nodes it has none."""
    environment = job_script.environment(os.environ)
    names = node_selection.choose(controller, orders.partition, orders.nodes, orders.reservation)
    if orders.site_partition is not None:
        site_partition.refuse_unknown(orders.site_partition, names[0])
    if orders.options:
        controller.refuse_misused(orders.options)
    known, left_out = controller.nodes(), {}
    if orders.idle_only:
        left_out = {name: why for name in names if (why := node_selection.occupation(known.get(name))) is not None}
        idle = [name for name in names if name not in left_out]
        names = nightly.longest_ago(results_directory(orders.results), idle)
    pack, now = LEVELS[orders.pack], time.time()
    against = pairs_wanted.reason_against(
        False if orders.idle_only else orders.mpi_pairs, orders.pack, names, orders.partition, orders.site_partition
    )
    minutes = orders.minutes or pack.minutes
    hours = orders.hours if orders.hours is not None else pack.hours
    if hours * 60 < minutes:
        raise NearfarError(f"--deadline {hours:g}: fewer hours than a job may take ({minutes} minutes)")
    return SweepPlan(
        sweep=orders.name or time.strftime(f"%Y%m%dT%H%M%S-{orders.pack}", time.gmtime(now)), pack=orders.pack,
        partition=orders.partition, nodes=tuple(names), minutes=minutes, window=orders.window, started=now,
        gres={name: node_selection.gres(known[name]) for name in names if name in known and node_selection.gres(known[name])},
        deadline=now + hours * 3600, reservation=orders.reservation, site_partition=orders.site_partition,
        options=orders.options, idle_only=orders.idle_only, left_out=left_out, mpi_pairs=against is None, no_pairs=against or "",
        environment=environment, command=("nearfar", *sys.argv[1:]),
    )  # fmt: skip


def controller() -> Controller:
    """The cluster that this host's Slurm commands speak to. Raises ``NearfarError`` where there is none, or it is too
    old."""
    slurm = Slurm(job_script.for_sbatch(os.environ))
    slurm.version()
    return Controller(slurm)


def carry_out(journal: SweepState, asked: Controller, results: Path, pace: Pace) -> None:
    """Measure all nodes of a journal, and tell of it. The results directory is locked by the caller."""
    progress = SweepProgress(journal, results, own(results))
    SweepLoop(journal, asked, results, progress.tell, progress.say, progress.going_on, pace).run()


def dry_run(planned: SweepPlan, tasks: Sequence[SweepJob], print_line: Callable[[str], None]) -> None:
    """Say what would be submitted; ``tasks`` are those of the plan's nodes."""
    waiting = [task for task in tasks if task.job is None and not task.ended]
    which = node_names.fold(name for task in waiting for name in task.hosts) or "none"
    many = "" if len(planned.nodes) == 1 else "s"
    print_line(
        f"sweep {planned.sweep}: {len(planned.nodes)} node{many} of {planned.partition}; jobs are submitted for {which}"
    )
    left = sum(task.outstanding for task in tasks)
    if left:
        print_line(f"waited for: {left} job{'' if left == 1 else 's'} that may still be in Slurm")
    print_line(
        f"at most {planned.window} jobs at once, {planned.minutes} minutes each; pack {planned.pack}: {LEVELS[planned.pack].words}"
    )
    if planned.mpi_pairs:
        print_line("then MPI between pairs of the nodes that are well; --no-mpi-pairs leaves it out")
    elif planned.no_pairs:
        print_line(f"MPI between nodes is not measured: {planned.no_pairs}")
    if waiting:
        said = job_script.output(Path(), waiting[0])
        options = job_script.submission(planned, waiting[0], said, planned.started)
        print_line(f"the first: sbatch {shlex.join(options)}")
