"""``nearfar slurm nightly``: measure idle nodes, and make way for everybody."""

from __future__ import annotations

import argparse

from nearfar.slurm.sweep import CHOICES, Pace, SweepOptions, begin_or_resume, plan

from . import renamed, sweep

_EPILOG = """examples:
  nearfar slurm nightly --partition gpu --results /shared/nearfar
  nearfar slurm nightly --partition gpu --max-jobs 4 --sbatch=--qos=preemptible --deadline 5
  nearfar slurm nightly --partition gpu --dry-run

Only nodes that are exactly IDLE get a job: not powered down, planned, reserved, drained or in use; those that were
measured longest ago come first. A job that has not started when its node is wanted is taken back. Make the jobs
preemptible by a QOS or partition of yours (--sbatch). `nearfar slurm install` writes the timer.

exit codes: 0 all measured nodes good or degraded, 1 a node failed, 2 wrong use, 3 a node could not be judged, or none was
measured; 130 interrupted
"""
#: Far below any user's job; Slurm takes at most 2147483645.
_NICE = 100000
_MAX_JOBS = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Measure the idle nodes of a partition with jobs of low priority, a few at once, until a deadline."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--partition", "-p", metavar="P", required=True, help="Slurm's partition")
    parser.add_argument("--nodes", "-w", metavar="LIST", help="only these, as n[1-4,7] (default: all of the partition)")
    parser.add_argument("--reservation", metavar="R", help=argparse.SUPPRESS)
    sweep.add_common(parser, max_jobs=_MAX_JOBS)
    renamed.add(parser, "--level", choices=CHOICES, default="nightly", help="what is measured (default: nightly)")
    parser.add_argument("--nice", metavar="N", type=int, default=_NICE, help=f"how far below others (default: {_NICE})")
    parser.add_argument("--dry-run", action="store_true", help="say what would be submitted, and submit nothing")


def run(args: argparse.Namespace) -> int:
    """Plan, measure, merge, and say what was found."""
    sweep.refuse_numbers(args)
    options = SweepOptions(
        partition=args.partition, level=args.level, max_jobs=args.max_jobs or _MAX_JOBS, reservation=args.reservation,
        site_partition=args.site_partition, options=(f"--nice={args.nice}", *args.sbatch), idle_only=True,
    )  # fmt: skip
    results = plan.results_directory(args.results)
    controller = plan.controller()
    if args.dry_run:
        return sweep.dry_run(sweep.new(args, options, controller, results))
    with begin_or_resume.lock(results):
        begun = begin_or_resume.begin(sweep.new(args, options, controller, results))
        return sweep.finish(begun, controller, Pace(result_wait=args.result_wait), args.json)
