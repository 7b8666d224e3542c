"""``nearfar slurm release``: nodes that act has drained are put into use again, on a person's word."""

from __future__ import annotations

import argparse

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD
from nearfar.slurm.act import release

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm release n2 --because "cable reseated, the user needs it today"
  nearfar slurm release 'n[1-4]' --because "it was the driver: 580.2 is back"

Nothing is measured: nearfar slurm retest NODES measures them first. Only drains of act's own are taken back; a node is read again just
before it is resumed. What was found until now is closed, as by nearfar slurm clear; what is found from now on counts.
exit codes: 0 all are in use (also those that were already), 2 wrong use or no rights, or a name that Slurm does not know: nothing
was done; 3 some are not in use: each line says why
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Put nodes that act has drained into use again, on your word and without measuring."
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "drained by act")
    act_arguments.add_because(parser, "why they are well, or needed all the same")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Resume them, and say of each what became of it."""
    names, because = act_arguments.nodes(args), act_arguments.because(args)
    options, slurm, code = act_arguments.options(args), act_arguments.slurm(), EXIT_GOOD
    act_arguments.on_behalf(options.state)
    for one in release.release(options, names, because, slurm):
        word = "released" if one.released else "in use" if one.in_use else "not released"
        print(f"{one.node:<12} {word:<13} {one.words}", flush=True)
        code = code if one.in_use else EXIT_COULD_NOT_JUDGE
    return code
