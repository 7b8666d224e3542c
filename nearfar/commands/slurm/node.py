"""``nearfar slurm node``: what a sweep's job runs on its node."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.base import EXIT_GOOD
from nearfar.commands import metrics_option
from nearfar.prometheus import run_metrics
from nearfar.slurm.results import parted
from nearfar.slurm.sweep import LEVELS, SweepJob, node_run

_EPILOG = """examples:
  nearfar slurm node --results /shared/nearfar --sweep by-hand --node n1

exit codes: 0 a result was left, whatever its verdict; 2 wrong use; 3 none was left
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Measure this node, and leave its result in a shared directory. `nearfar slurm sweep` submits it."
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--results", metavar="DIR", type=Path, required=True, help="the shared results directory")
    add("--sweep", metavar="NAME", required=True, help="the sweep that it belongs to")
    add("--node", metavar="NODE", required=True, help="Slurm's name of this node; of a pair n1+n2")
    add("--attempt", metavar="N", type=int, default=1, help="which attempt of the sweep at this node")
    gpus = "how many GPUs Slurm has on this node (default: from the job's environment)"
    add("--gpus", metavar="N", type=int, help=gpus)
    add("--level", choices=list(LEVELS), default="accept", help="what is measured (default: accept)")
    add("--accept-degraded", action="store_true", help="with the level accept: the node's page accepts DEGRADED")
    metrics_option.add(parser)
    add("--site-partition", metavar="NAME", help="the site's partition that the node is of (default: Slurm's)")


def run(args: argparse.Namespace) -> int:
    """Measure, hand over, and print where."""
    job = SweepJob(parted(args.node), args.attempt)
    place = node_run.run(
        args.results.absolute(), args.sweep, job, args.level, args.site_partition, args.gpus, args.accept_degraded
    )
    if len(job.nodes) == 1:  # what a pair measured is no node's
        metrics_option.write(args, lambda to: run_metrics.write(place, to))
    print(place)
    return EXIT_GOOD
