"""``nearfar slurm health``: a check of this node, for slurmd's HealthCheckProgram, epilog and prolog."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.commands import metrics_option
from nearfar.slurm.health import LIMIT, OUTPUT, QUICK_LIMIT, HealthOptions, program

_EPILOG = """examples:
  nearfar slurm health --drain                              as slurmd runs it; writes to /var/lib/nearfar/health
  nearfar slurm health --output /tmp/mine --json            by hand, with the result and time of every source
  nearfar slurm health --quick --output /tmp/mine           as a prolog runs it (an epilog adds --drain)

With --drain, hard evidence drains the node at once if the system file allows it (act: checks: health: drain) and its limits leave
room. A new FAIL also stays in DIR/kept until `nearfar slurm act` has read it.
exit codes: 0 a finding was written, whatever its verdict, or another check was running; 2 refused: nothing was written;
3 it could not be written. slurmd only logs 2 and 3. With --quick, 9: hard evidence that may drain.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Compare this node's parts and links with the system file, and read its kernel log and driver, within seconds."
    )
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--output", metavar="DIR", type=Path, default=OUTPUT, help=f"where NODE.json goes (default: {OUTPUT})")
    add("--state", metavar="DIR", type=Path, help="on a local disk, what the next check needs (default: by --output)")
    add("--partition", metavar="NAME", help="its partition, in the system file or Slurm's (default: the only one)")
    limits = f"seconds that a source may take (default: {LIMIT:g}, with --quick {QUICK_LIMIT:g}; at most 30)"
    add("--limit", metavar="SECONDS", type=float, help=limits)
    add("--quick", action="store_true", help="for prolog and epilog: write only a FAIL")
    add("--drain", action="store_true", help="drain this node on hard evidence, if the system file allows it")
    metrics_option.add(parser)
    add("--json", action="store_true", help="print the whole finding, with the result of every source")


def run(args: argparse.Namespace) -> int:
    """Check, and say what was found."""
    limit = args.limit if args.limit is not None else QUICK_LIMIT if args.quick else LIMIT
    if not 0 < limit <= 30:
        raise NearfarError(f"--limit: {limit:g}: more than 0 and at most 30 seconds")
    return program(
        HealthOptions(
            args.output, args.partition, limit, args.quick, metrics_option.of(args), args.state, args.drain,
        ),
        args.json,
    )  # fmt: skip
