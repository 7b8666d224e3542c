"""``nearfar slurm sweep``: measure many nodes, one job each, and judge them together."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
import time
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.commands import positive, refuse_outside
from nearfar.slurm.sweep import (
    CHOICES,
    LEVELS,
    Controller,
    Pace,
    Sweep,
    SweepOptions,
    begin_or_resume,
    job_loop,
    merge,
    pair_rounds,
    plan,
)
from nearfar.slurm.trust import on_behalf

_EPILOG = """examples:
  nearfar slurm sweep --partition gpu                            every node of a partition, before it is accepted
  nearfar slurm sweep --partition gpu --nodes 'gpu[001-032,040]' --results /shared/nearfar
  nearfar slurm sweep --partition gpu --reservation delivery --level quick --max-jobs 64
  nearfar slurm sweep --resume 20261121T090000-accept            after an interrupt, or for nodes without a result
  nearfar slurm sweep --partition gpu --dry-run                  what would be submitted
  nearfar slurm sweep --partition gpu --idle --results /shared/nearfar                      every night, beside the users' jobs
  nearfar slurm sweep --partition gpu --idle --max-jobs 4 --sbatch=--qos=preemptible --deadline 5

Ctrl-C leaves the jobs in Slurm: they end by themselves and leave their results, and --resume finds them.
--idle: only nodes that are exactly IDLE get a job (not powered down, planned, reserved, drained or in use); those that were
measured longest ago come first. A job that has not started when its node is wanted is taken back. Make the jobs preemptible
by a QOS or partition of yours (--sbatch). `nearfar slurm install` writes the timer.

exit codes: 0 all nodes good or degraded, 1 a node failed (level accept: or is degraded), 2 wrong use, 3 a node could not be judged, or
with --idle none was measured; 130 interrupted
"""
#: What is measured, and how many jobs there are at once, unless the user says: of a sweep, and of one over idle nodes.
_LEVEL, _LEVEL_IDLE = "accept", "nightly"
_MAX_JOBS, _MAX_JOBS_IDLE = 32, 8
#: Far below any user's job; Slurm takes at most 2147483645.
_NICE = 100000
#: Options that a sweep is begun with, and keeps.
_OF_THE_BEGINNING = (
    "nodes", "reservation", "idle", "level", "max_jobs", "nice", "name", "time", "deadline", "site_partition", "sbatch", "mpi_pairs",
    "accept_degraded",
)  # fmt: skip
#: Minutes that a sweep or a job may be given: a year.
_LONGEST = 366 * 24 * 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Measure nodes with one exclusive job each, and merge what they found into one page."
    parser.epilog = _EPILOG
    which = parser.add_argument_group("which nodes")
    which.add_argument("--partition", "-p", metavar="P", help="Slurm's partition")
    which.add_argument("--nodes", "-w", metavar="LIST", help="only these, as n[1-4,7] (default: all of the partition)")
    which.add_argument("--reservation", metavar="R", help="the nodes of a reservation, inside it")
    which.add_argument(
        "--resume", metavar="NAME", help="continue a sweep: nodes without a result have their turn again"
    )
    which.add_argument(
        "--idle", action="store_true", help="only those that are idle now, a few at once and below everybody's jobs"
    )
    parser.add_argument(
        "--mpi-pairs", action=argparse.BooleanOptionalAction,
        help="then MPI between pairs of nodes that passed; each suspect again with one that is well (default: with the level "
        "accept, where the site's partition has the features mpi and two_nodes; never with --idle)",
    )  # fmt: skip
    levels = "; ".join(f"{name}: {LEVELS[name].words}" for name in CHOICES)
    parser.add_argument(
        "--level", choices=CHOICES,
        help=f"what is measured: {levels} (default: {_LEVEL}; with --idle: {_LEVEL_IDLE})",
    )  # fmt: skip
    parser.add_argument(
        "--accept-degraded", action="store_true",
        help="with the level accept: DEGRADED ends with exit code 0, and the page says so",
    )  # fmt: skip
    parser.add_argument(
        "--max-jobs", metavar="N", type=positive,
        help=f"jobs in Slurm at once (default: {_MAX_JOBS}; with --idle: {_MAX_JOBS_IDLE})",
    )  # fmt: skip
    parser.add_argument(
        "--nice",
        metavar="N",
        type=int,
        help=f"how far below others' jobs (default: as Slurm has it; with --idle: {_NICE})",
    )
    parser.add_argument(
        "--results",
        metavar="DIR",
        type=Path,
        help="the results directory, shared with the nodes (default: reports/sweeps)",
    )
    parser.add_argument("--name", metavar="NAME", help="the sweep's name (default: the time and the level)")
    parser.add_argument("--time", metavar="MINUTES", type=positive, help="a job's time limit (default: by level)")
    parser.add_argument(
        "--deadline",
        metavar="HOURS",
        type=float,
        help="no job starts or runs later than this from now (default: by level)",
    )
    parser.add_argument(
        "--site-partition", metavar="NAME", help="the partition of the site's file (default: by its access)"
    )
    parser.add_argument(
        "--sbatch", metavar="OPTION", action="append", default=[], help="an option for sbatch, as --sbatch=--qos=low"
    )
    parser.add_argument(
        "--result-wait", metavar="SECONDS", type=float, default=Pace.result_wait,
        help="how long a result may take to be seen here after its job has ended (default: 75; NFS may take a minute)",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="say what would be submitted, and submit nothing")
    parser.add_argument("--json", action="store_true", help="print sweep-report.json on standard output")


def _refuse_numbers(args: argparse.Namespace) -> None:
    """Raise ``NearfarError`` for a time that is none: before anything is asked or made."""
    refuse_outside("--deadline", args.deadline, 0.0, _LONGEST / 60, "hours")
    refuse_outside("--time", args.time, 1, _LONGEST, "minutes")
    refuse_outside("--result-wait", args.result_wait, 0.0, 86400.0, "seconds")


def run(args: argparse.Namespace) -> int:
    """Plan or resume, measure, merge, and say what was found."""
    if (args.partition is None) == (args.resume is None):
        raise NearfarError("name a partition (--partition P), or a sweep to continue (--resume NAME)")
    _refuse_numbers(args)
    if args.resume is not None:
        _refuse_beside_resume(args)
    if args.idle and args.mpi_pairs:
        raise NearfarError(
            "--mpi-pairs: not with --idle: a pair would keep two nodes from others; leave one of them out"
        )
    level = args.level or (_LEVEL_IDLE if args.idle else _LEVEL)
    if args.accept_degraded and not LEVELS[level].acceptance:
        raise NearfarError(f"--accept-degraded: the level {level} accepts nothing; leave it out, or add --level accept")
    results = plan.results_directory(args.results)
    on_behalf.of_owner(results)
    controller = plan.controller()
    if args.dry_run and args.resume is None:
        return _dry_run(_new(args, controller, results))
    if args.dry_run:
        plan.dry_run(begin_or_resume.resume(results, args.resume, time.time()), print)
        return EXIT_GOOD
    with begin_or_resume.lock(results):
        if args.resume is not None:
            sweep = begin_or_resume.resume(results, args.resume, time.time())
        else:
            sweep = begin_or_resume.begin(_new(args, controller, results))
        return _finish(sweep, controller, Pace(result_wait=args.result_wait), args.json)


def _new(args: argparse.Namespace, controller: Controller, results: Path) -> Sweep:
    """The sweep that the arguments ask for."""
    level, most, nice = (_LEVEL_IDLE, _MAX_JOBS_IDLE, _NICE) if args.idle else (_LEVEL, _MAX_JOBS, None)
    nice = args.nice if args.nice is not None else nice
    options = SweepOptions(
        partition=args.partition, level=args.level or level, max_jobs=args.max_jobs or most, reservation=args.reservation,
        site_partition=args.site_partition, options=(*([] if nice is None else [f"--nice={nice}"]), *args.sbatch),
        idle_only=args.idle, accept_degraded=args.accept_degraded,
    )  # fmt: skip
    return plan.new_sweep(
        controller, results, options, nodes=args.nodes, name=args.name, minutes=args.time, hours=args.deadline,
        mpi_pairs=args.mpi_pairs,
    )  # fmt: skip


def _dry_run(sweep: Sweep) -> int:
    """Say what a new sweep would submit, or refuse it as it would be."""
    begin_or_resume.could_begin(sweep)
    plan.dry_run(sweep, print)
    return EXIT_GOOD


def _refuse_beside_resume(args: argparse.Namespace) -> None:
    """A sweep goes on with what it was begun with."""
    given = [name for name in _OF_THE_BEGINNING if getattr(args, name) not in (None, [], False)]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise NearfarError(
            f"{option}: --resume {args.resume} goes on with what that sweep was begun with; leave {option} out"
        )


def _finish(sweep: Sweep, controller: Controller, pace: Pace, as_json: bool) -> int:
    """Measure and merge; an interrupt merges what is there, and says how to go on."""
    try:
        job_loop.measure(sweep, controller, pace)
        if sweep.mpi_pairs:
            pair_rounds.measure(sweep, controller, pace)
    except (KeyboardInterrupt, NearfarError):
        with contextlib.suppress(NearfarError):  # the first error is the one to tell
            merge.merge(sweep)
        _how_to_go_on(sweep)
        raise
    merged = merge.merge(sweep)
    print(merged.as_json() if as_json else merged.summary())
    return merged.exit_code


def _how_to_go_on(sweep: Sweep) -> None:
    sweeps = (sweep, *pair_rounds.rounds_of(sweep))
    left = [each for each in sweeps if any(job.outstanding for job in each.jobs.values())]
    count = sum(job.outstanding for each in left for job in each.jobs.values())
    jobs = (
        f"{count} jobs stay in Slurm and leave their results"
        if count > 1
        else "1 job stays in Slurm and leaves its result"
    )
    name, where = shlex.quote(sweep.name), shlex.quote(str(sweep.results))
    print(f"nearfar: {jobs if left else 'no job is left in Slurm'}; continue: nearfar slurm sweep --resume {name} --results {where}",
          file=sys.stderr)  # fmt: skip
    if left:
        print(f"nearfar: or end them: scancel --name={','.join(each.job_name for each in left)}", file=sys.stderr)
