"""``nearfar slurm sweep``: measure many nodes, one job each, and judge them together."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from dataclasses import replace
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError, plural, reports_directory
from nearfar.commands import positive, refuse_outside
from nearfar.slurm.controller import Slurm
from nearfar.slurm.sweep import (
    CHOICES,
    LEVELS,
    Pace,
    Sweep,
    begin_or_resume,
    job_loop,
    merge,
    pair_rounds,
    slurm_jobs,
)
from nearfar.slurm.trust import go_on_as_owner

_EPILOG = """examples:
  nearfar slurm sweep --partition gpu                            accept every node of a partition
  nearfar slurm sweep --partition gpu --nodes 'gpu[001-032,040]' --results /shared/nearfar
  nearfar slurm sweep --partition gpu --reservation delivery --level quick --max-jobs 64
  nearfar slurm sweep --partition gpu --no-wait                  only submit; --resume NAME waits for the jobs and writes the page
  nearfar slurm sweep --resume 20261121T090000-accept            continue an interrupted sweep, or measure nodes without a result
  nearfar slurm sweep --partition gpu --dry-run                  show what would be submitted
  nearfar slurm sweep --partition gpu --idle --results /shared/nearfar                      each night, on idle nodes
  nearfar slurm sweep --partition gpu --idle --max-jobs 4 --sbatch=--qos=preemptible --deadline 5

All jobs are submitted at once, and at most --max-jobs run at a time. Ctrl-C (or kill -9) leaves them in Slurm: they run on and leave
their results. --resume waits for them, and measures the nodes that have neither such a job nor a whole result.
--idle: only nodes that are exactly IDLE get a job (not powered down, planned, reserved, drained or in use), those measured
longest ago first. If a user needs the node before the job starts, the job is cancelled. To make running jobs preemptible, name a QOS
or partition of yours with --sbatch. `nearfar slurm install` installs the nightly timer.

exit codes: 0 all nodes good or degraded, 1 a node failed (level accept: or is degraded), 2 wrong use, 3 a node could not be judged, or
with --idle none was measured; 130 interrupted
"""
#: What is measured, and how many jobs there are at once, unless the user says: of a sweep, and of one over idle nodes.
_LEVEL, _LEVEL_IDLE = "accept", "nightly"
_MAX_JOBS, _MAX_JOBS_IDLE = 32, 8
#: With --idle, unless --sbatch=--nice=N says otherwise: far below any user's job; Slurm takes at most 2147483645.
_NICE = 100000
#: Options that a sweep is begun with, and keeps.
_OF_THE_BEGINNING = (
    "nodes", "reservation", "idle", "level", "max_jobs", "name", "time", "deadline", "sbatch", "mpi_pairs",
)  # fmt: skip
#: Minutes that a sweep or a job may be given: a year.
_LONGEST = 366 * 24 * 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Measure nodes with one exclusive job each, and write one page of all results."
    parser.epilog = _EPILOG
    levels = "; ".join(f"{name}: {LEVELS[name].words}" for name in CHOICES)
    which = parser.add_argument_group("which nodes").add_argument
    which("--partition", "-p", metavar="P", help="Slurm's partition")
    which("--nodes", "-w", metavar="LIST", help="only these, as n[1-4,7] (default: all of the partition)")
    which("--reservation", metavar="R", help="the nodes of this reservation; the jobs run inside it")
    which("--resume", metavar="NAME", help="continue a sweep: measure the nodes without a result again")
    which("--idle", action="store_true", help="only nodes idle now, a few at a time, at lower priority than user jobs")
    add = parser.add_argument
    add("--mpi-pairs", action="store_true",
        help="afterwards measure MPI between pairs of nodes that passed, and slow nodes again with a good partner")  # fmt: skip
    add("--level", choices=CHOICES, help=f"what is measured: {levels} (default: {_LEVEL}; with --idle: {_LEVEL_IDLE})")
    add("--max-jobs", metavar="N", type=positive,
        help=f"jobs that run at a time, at most (default: {_MAX_JOBS}; with --idle: {_MAX_JOBS_IDLE})")  # fmt: skip
    add("--results", metavar="DIR", type=Path,
        help="the results directory, shared with the nodes (default: reports/sweeps)")  # fmt: skip
    add("--name", metavar="NAME", help="the sweep's name (default: the time and the level)")
    add("--time", metavar="MINUTES", type=positive, help="a job's time limit (default: by level)")
    add("--deadline", metavar="HOURS", type=float,
        help="no job starts or runs later than this many hours from now (default: by level)")  # fmt: skip
    add("--sbatch", metavar="OPTION", action="append", default=[], help="an option for sbatch, as --sbatch=--qos=low")
    add("--result-wait", metavar="SECONDS", type=float, default=Pace.result_wait,
        help="how long to wait for a result file after its job has ended (default: 75; NFS may take a minute)")  # fmt: skip
    add("--no-wait", action="store_true", help="submit the jobs and return; the sweep goes on in Slurm")
    add("--dry-run", action="store_true", help="show what would be submitted, and submit nothing")
    add("--json", action="store_true", help="print sweep-report.json")


def _refuse_misuse(args: argparse.Namespace) -> None:
    """Raise ``NearfarError`` for options that contradict each other, and for a time that is none."""
    if (args.partition is None) == (args.resume is None):
        raise NearfarError("name a partition (--partition P), or a sweep to continue (--resume NAME)")
    refuse_outside("--deadline", args.deadline, 0.0, _LONGEST / 60, "hours")
    refuse_outside("--time", args.time, 1, _LONGEST, "minutes")
    refuse_outside("--result-wait", args.result_wait, 0.0, 86400.0, "seconds")
    given = [name for name in _OF_THE_BEGINNING if getattr(args, name) not in (None, [], False)]
    if args.resume is not None and given:
        option, why = f"--{given[0].replace('_', '-')}", "goes on with what that sweep was begun with"
        raise NearfarError(f"{option}: --resume {args.resume} {why}; leave {option} out")
    if args.idle and args.mpi_pairs:
        why = "a pair would keep two nodes from other jobs"
        raise NearfarError(f"--mpi-pairs: not with --idle: {why}; leave one of them out")
    if args.idle and args.no_wait:
        why = "only a sweep that watches takes back the jobs of nodes that other jobs want"
        raise NearfarError(f"--no-wait: not with --idle: {why}; leave one of them out")


def run(args: argparse.Namespace) -> int:
    """Plan or resume, measure, merge, and say what was found."""
    _refuse_misuse(args)
    results = (args.results or reports_directory() / "sweeps").absolute()
    go_on_as_owner(results)
    slurm = Slurm()
    slurm.version()  # too old a one is refused before all else
    if args.dry_run:
        begin_or_resume.refuse_forgeable(results)
        print(begin_or_resume.dry_run(_sweep(args, slurm, results)))
        return EXIT_GOOD
    with begin_or_resume.lock(results):
        sweep = _sweep(args, slurm, results)
        if args.resume is None:
            begin_or_resume.begin(sweep)
        return _finish(sweep, slurm, Pace(result_wait=args.result_wait), args)


def _sweep(args: argparse.Namespace, slurm: Slurm, results: Path) -> Sweep:
    if args.resume is not None:
        return begin_or_resume.resume(results, args.resume, slurm)
    level, most = (_LEVEL_IDLE, _MAX_JOBS_IDLE) if args.idle else (_LEVEL, _MAX_JOBS)
    return begin_or_resume.new_sweep(
        slurm, results, partition=args.partition, level=args.level or level, max_jobs=args.max_jobs or most, reservation=args.reservation,
        options=(*([f"--nice={_NICE}"] if args.idle else []), *args.sbatch), idle_only=args.idle,
        nodes=args.nodes, name=args.name, minutes=args.time, hours=args.deadline, mpi_pairs=args.mpi_pairs,
    )  # fmt: skip


def _finish(sweep: Sweep, slurm: Slurm, pace: Pace, args: argparse.Namespace) -> int:
    """Measure and merge; an interrupt merges what is there, and says how to go on."""
    try:
        job_loop.measure(sweep, slurm, pace, watch=not args.no_wait)
        if args.no_wait and not sweep.through:
            _how_to_go_on(sweep)
            return EXIT_GOOD
        if sweep.mpi_pairs and not sweep.merged:
            pair_rounds.measure(sweep, slurm, pace)
    except (KeyboardInterrupt, NearfarError):
        with contextlib.suppress(NearfarError):  # the first error is the one to tell
            merge.merge(sweep)
        _how_to_go_on(sweep)
        raise
    merged = merge.merge(sweep)
    replace(sweep, merged=True).save()
    print(merged.text.rstrip() if args.json else merged.summary())
    return merged.exit_code


def _how_to_go_on(sweep: Sweep) -> None:
    count = sum(job.outstanding for job in sweep.jobs.values())
    name, where = shlex.quote(sweep.name), shlex.quote(str(sweep.results))
    left = f"{plural(count, 'job')} left in Slurm; continue: nearfar slurm sweep --resume {name} --results {where}"
    slurm_jobs.print_line(left)
    if count:
        chosen = f"""awk 'index($2, "{sweep.job_prefix}") == 1 {{print $1}}'"""
        slurm_jobs.print_line(f"or end them: squeue --me --noheader --format='%i %j' | {chosen} | xargs scancel")
