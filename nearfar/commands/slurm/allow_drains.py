"""``nearfar slurm allow-drains``: drains go on after a cap has stopped them."""

from __future__ import annotations

import argparse

from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.slurm.act import clear

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm allow-drains --because "they are really broken"            the next act drains again, within the caps
  nearfar slurm allow-drains --because "reference was wrong, fixed"

What has stopped them, and which nodes are held: nearfar slurm status. The drains of the last day no longer count; nodes
that are drained now do, against the cap in all.
exit codes: 0 drains are allowed again, 2 they were not stopped, or wrong use; 3 the log cannot be read
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Allow drains again after a cap has stopped them."
    parser.epilog = _EPILOG
    act_arguments.add_because(parser, "why they may go on")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Write it down, and say what had stopped them."""
    because = act_arguments.because(args)
    state = act_arguments.state(args)
    if not state.is_dir():
        raise NearfarError(f"{state}: no such directory: act has not run here; name its directory: --state DIR")
    stopped = clear.allow_drains(act_arguments.on_behalf(state), because)
    print(f"drains are allowed again; they were stopped because: {stopped}")
    return EXIT_GOOD
