"""``nearfar slurm clear``: an administrator's word that nodes were repaired or checked."""

from __future__ import annotations

import argparse

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD, NearfarError, printable
from nearfar.slurm.act import clear
from nearfar.slurm.controller import Slurm
from nearfar.slurm.trust import go_on_as_owner

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm clear n2 --because "GPU 2 replaced, ticket 4711"    close its findings; if nearfar drained it, resume it
  nearfar slurm clear 'n[1-4]' --because "it was the driver: 580.2 is back"

Closes all findings up to now and resumes nodes that nearfar drained, without measuring. To measure first, use nearfar slurm retest.
Drains by others stay. New findings count as usual.
exit codes: 0 done; 2 wrong use, no rights, or a node that neither Slurm nor the ledger knows; 3 a node is still out of use, or Slurm
did not answer
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Record that nodes were repaired or checked: close their findings, and resume those that nearfar drained."
    )
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "nodes, drained or not")
    parser.add_argument("--because", metavar="WORDS", help="what was done, for the ledger")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Do it, and print what follows for each node."""
    names, because = act_arguments.nodes(args), printable(" ".join((args.because or "").split()))
    if not because:
        raise NearfarError("give the reason, for the ledger: --because WORDS")
    options, slurm = act_arguments.options(args), Slurm()
    go_on_as_owner(options.state)
    code = EXIT_GOOD
    for one in clear(options, names, because, slurm):
        print(f"{one.node:<12} {'cleared' if one.in_use else 'not cleared':<13} {one.words}", flush=True)
        code = code if one.in_use else EXIT_COULD_NOT_JUDGE
    return code
