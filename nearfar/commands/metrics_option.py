"""The option that says where Prometheus' text files go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.prometheus import VARIABLE, directory


def add(parser: argparse.ArgumentParser) -> None:
    """Add ``--metrics DIR``."""
    parser.add_argument(
        "--metrics", metavar="DIR", type=Path,
        help=f"also write metrics for Prometheus to this directory of node_exporter (default: {VARIABLE}, else none)",
    )  # fmt: skip


def of(args: argparse.Namespace) -> Path | None:
    """The directory, by the option or the environment; None: no file is wanted."""
    chosen = directory(args.metrics)
    return None if chosen is None else chosen.absolute()


def write(args: argparse.Namespace, writer: Callable[[Path], object]) -> None:
    """Write the file where one is wanted. That it cannot be written costs a line on standard error, and changes no exit code."""
    folder = of(args)
    if folder is not None:
        try:
            writer(folder)
        except NearfarError as error:
            print(f"nearfar: metrics: {error}", file=sys.stderr)
