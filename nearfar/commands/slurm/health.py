"""``nearfar slurm health``: a look at this node, for Slurm's HealthCheckProgram."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.commands import metrics_option
from nearfar.slurm.health import check

_EPILOG = """examples:
  nearfar slurm health                                      what slurmd runs: the finding goes to /var/lib/nearfar/health
  nearfar slurm health --output /shared/nearfar-health      where `nearfar slurm act` finds those of all nodes
  nearfar slurm health --output /tmp/mine                   by hand, not as root
  nearfar slurm health --output /tmp/mine --json            with what every source said, and how long it took
  nearfar slurm health --quick --output /tmp/mine           what a prolog runs

It never drains a node and never calls slurmctld. docs/guide/slurm-act.md has the lines for slurm.conf.
A look that found a FAIL is kept below DIR/kept as well, until `nearfar slurm act` has read it.
exit codes: 0 a finding was written, whatever it says, or another look was under way; 2 refused: nothing was written;
3 it could not be written. slurmd logs 2 and 3 and does nothing else. With --quick, 9: hard evidence was found.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Compare this node's parts and links with the site's file and its last run, within seconds."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        default=check.OUTPUT,
        help=f"where NODE.json goes (default: {check.OUTPUT})",
    )
    parser.add_argument("--system", metavar="NAME", help="the system file (default: the one that claims this host)")
    parser.add_argument(
        "--partition", metavar="NAME", help="the site's partition (default: the last run's, or the only one)"
    )
    parser.add_argument("--results", metavar="DIR", type=Path, help="the directory that sweeps write to")
    parser.add_argument("--tools", metavar="DIRS", default="", help="where hwloc's lstopo is, if not in /usr/bin")
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=float,
        help=f"hard limit (default: {check.LIMIT:g}, with --quick {check.QUICK_LIMIT:g}; at most 30)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="what a prolog or epilog runs: no last run is read, and only a FAIL is written",
    )
    metrics_option.add(parser)
    parser.add_argument("--json", action="store_true", help="print the whole finding, with what every source said")


def run(args: argparse.Namespace) -> int:
    """Look, and say what was seen."""
    limit = args.limit if args.limit is not None else check.QUICK_LIMIT if args.quick else check.LIMIT
    if not 0 < limit <= 30:
        raise NearfarError(f"--limit: {limit:g}: more than 0 and at most 30 seconds")
    return check.program(
        check.HealthOptions(
            args.output,
            args.system,
            args.partition,
            args.results,
            limit,
            args.tools,
            args.quick,
            metrics_option.of(args),
        ),
        args.json,
    )
