"""``nearfar metrics``: what a run measured, as Prometheus' text."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.prometheus import catalogue, run_metrics

from .command_line import run_directories

_EPILOG = """examples:
  nearfar metrics latest                                                   on standard output
  nearfar metrics latest --output /var/lib/node_exporter/textfile_collector     nearfar-run.prom, for node_exporter
  nearfar metrics latest --all                                             every figure, each a series or four
  nearfar metrics /shared/nearfar/20261120T023000/nodes/n1/1               a node of a sweep

docs/deploy.md shows how to switch it on for good, docs/reference/metrics.md what each metric is.
exit codes: 0 it was written, whatever the verdict; 2 wrong use; 3 nothing was measured, or it cannot be written
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Print the verdicts and figures of a run as text that Prometheus reads."
    parser.epilog = _EPILOG
    parser.add_argument("run_directory", metavar="RUN", help="a run directory, or 'latest'")
    parser.add_argument("--output", metavar="DIR", type=Path, help=f"write {catalogue.RUN} into this directory instead")
    parser.add_argument(
        "--all", action="store_true", help="every figure, in place of the worst of each path class and direction"
    )


def run(args: argparse.Namespace) -> int:
    """Print, or write."""
    folders = run_directories(args.run_directory)
    if len(folders) != 1:
        raise NearfarError(f"{args.run_directory}: {len(folders)} runs; name one, as the metrics are of a node's last")
    made = run_metrics.page(folders[0], args.all)
    print(made.text(), end="") if args.output is None else print(made.write(args.output, catalogue.RUN))
    return EXIT_GOOD
