"""``nearfar slurm clear``: a person's word that nodes have been seen to."""

from __future__ import annotations

import argparse

from nearfar.base import EXIT_GOOD
from nearfar.slurm.act import clear

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm clear n2 --because "GPU 2 replaced, ticket 4711"    what was found until now is closed
  nearfar slurm clear 'n[1-4]' --because "it was the driver: 580.2 is back"

It resumes no node: one that act has drained still has to pass (nearfar slurm retest NODE), or is released on your word
(nearfar slurm release NODE). What is found from now on counts.
exit codes: 0 written into the log, 2 wrong use, or a node that neither Slurm nor the log knows; 3 Slurm did not answer
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Record that nodes have been repaired or checked: what was found of them until now is closed."
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "drained or not")
    act_arguments.add_because(parser, "what was done")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Write it down, and say what follows."""
    names, because = act_arguments.nodes(args), act_arguments.because(args)
    options, slurm = act_arguments.options(args), act_arguments.slurm()
    act_arguments.on_behalf(options.state)
    for node, follows in clear.clear(options, names, because, slurm):
        print(f"{node:<12} {'written down':<13} {follows}", flush=True)
    return EXIT_GOOD
