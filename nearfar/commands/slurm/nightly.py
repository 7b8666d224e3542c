"""``nearfar slurm nightly``: ``sweep --idle`` under the name that scripts of earlier installations call; no help shows it."""

from __future__ import annotations

import argparse

from . import sweep


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help: those of ``sweep``, idle nodes alone."""
    sweep.configure(parser)
    parser.set_defaults(idle=True)


run = sweep.run
