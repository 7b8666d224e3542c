"""``nearfar slurm node``: what a sweep's job runs on its node."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.base import EXIT_GOOD
from nearfar.commands import metrics_option
from nearfar.prometheus import run_metrics
from nearfar.slurm.results import parted
from nearfar.slurm.sweep import CHOICES, SweepJob, node_run

_EPILOG = """examples:
  nearfar slurm node --results /shared/nearfar --sweep by-hand --node n1

exit codes: 0 a result was written, whatever its verdict; 2 wrong use; 3 no result
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Measure this node, and write its result to a shared directory. The jobs of `nearfar slurm sweep` run it."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--results", metavar="DIR", type=Path, required=True, help="the shared results directory")
    parser.add_argument("--sweep", metavar="NAME", required=True, help="the name of the sweep")
    parser.add_argument("--node", metavar="NODE", required=True, help="Slurm's name of this node; for a pair n1+n2")
    parser.add_argument("--attempt", metavar="N", type=int, default=1, help="number of this attempt (default: 1)")
    parser.add_argument("--gpus", metavar="N", type=int, help="GPUs that Slurm has here (default: the job's)")
    parser.add_argument("--level", choices=CHOICES, default="accept", help="what is measured (default: accept)")
    metrics_option.add(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, hand over, and print where."""
    job = SweepJob(parted(args.node), args.attempt)
    place = node_run.run(args.results.absolute(), args.sweep, job, args.level, args.gpus)
    if len(job.nodes) == 1:  # what a pair measured is no node's
        metrics_option.write(args, lambda to: run_metrics.write(place, to))
    print(place)
    return EXIT_GOOD
