"""``nearfar slurm retest``: drained nodes measured again inside a reservation; those that pass are in use again."""

from __future__ import annotations

import argparse
import sys

from nearfar.base import EXIT_FAILED, EXIT_GOOD, printable_lines
from nearfar.slurm.act import RetestOptions, retest
from nearfar.slurm.controller import Slurm
from nearfar.slurm.sweep import CHOICES
from nearfar.slurm.trust import go_on_as_owner

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm retest n2                                              in a reservation; released if it passes
  nearfar slurm retest 'n[2,4]' --level quick
  nearfar slurm retest 'n[5-8]' --accept-delivered "new, not accepted"  new nodes that you drained with this reason

No other job can use the nodes meanwhile: they are drained, or reserved for you. If you interrupt it, it drains them again.
To return a node to service without measuring: nearfar slurm clear.
exit codes: 0 all passed and are released; 1 a node did not pass and is drained again; 2 wrong use, no rights, or a node that
may not be retested; 3 the outcome is unclear: the nodes stay drained, or reserved until act can drain them
"""
#: What a retest measures, unless the user says.
_LEVEL = "accept"


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Measure drained nodes in a reservation, and release those that pass."
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "nodes that nearfar has drained")
    parser.add_argument("--level", choices=CHOICES, default=_LEVEL, help=f"what is measured (default: {_LEVEL})")
    parser.add_argument("--partition", metavar="P", help="Slurm's partition (default: the only one that has them all)")
    parser.add_argument(
        "--accept-delivered", metavar="REASON", help="also nodes that others drained with just this reason"
    )
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, release or drain again, and print which."""
    delivered = None if args.accept_delivered is None else printable_lines(args.accept_delivered)
    request = RetestOptions(args.nodes, args.level, args.partition, delivered)
    options = act_arguments.options(args)
    go_on_as_owner(options.state)
    done = retest(request, options, Slurm(), lambda line: print(line, file=sys.stderr))
    for one in done:
        print(f"{one.node:<12} {'released' if one.in_use else 'drained':<13} {one.words}")
    return EXIT_GOOD if all(one.in_use for one in done) else EXIT_FAILED
