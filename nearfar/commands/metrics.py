"""``nearfar metrics``: what a run measured, as Prometheus' text."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.prometheus import catalogue, run_metrics

from .command_line import run_directories

_EPILOG = """examples:
  nearfar metrics latest                                                   print to standard output
  nearfar metrics latest --output /var/lib/node_exporter/textfile_collector     write nearfar-run.prom for node_exporter
  nearfar metrics latest --all                                             every figure, with one to four series each
  nearfar metrics /shared/nearfar/20261120T023000/nodes/n1/1               one node of a sweep

docs/deploy.md shows how to write metrics after every run; docs/reference/metrics.md explains each metric.
exit codes: 0 written, whatever the verdict; 2 wrong use; 3 nothing was measured, or the file cannot be written
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Print the verdicts and figures of a run in Prometheus' text format."
    parser.epilog = _EPILOG
    parser.add_argument("run_directory", metavar="RUN", help="a run directory, or 'latest'")
    parser.add_argument("--output", metavar="DIR", type=Path, help=f"write {catalogue.RUN} to this directory instead")
    parser.add_argument(
        "--all", action="store_true", help="all figures, not only the worst of each path class and direction"
    )


def run(args: argparse.Namespace) -> int:
    """Print, or write."""
    folders = run_directories(args.run_directory)
    if len(folders) != 1:
        raise NearfarError(f"{args.run_directory}: {len(folders)} runs; name one, as the metrics are of a node's last")
    made = run_metrics.page(folders[0], args.all)
    print(made.text(), end="") if args.output is None else print(made.write(args.output, catalogue.RUN))
    return EXIT_GOOD
