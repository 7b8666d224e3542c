"""The arguments that ``act`` and the commands for people share: without them they look where this machine's ``act`` does."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm import install
from nearfar.slurm.act import STATE, ActOptions, read_policy
from nearfar.slurm.controller import node_names
from nearfar.slurm.install import FOLDER


def add(parser: argparse.ArgumentParser) -> None:
    """``--system``, ``--results``, ``--health`` and ``--state``."""
    these = parser.add_argument_group("files and directories", f"default: as installed ({FOLDER}/installed.json)")
    these.add_argument(
        "--system", metavar="NAME", help="the system file with the `act` section (default: the only one)"
    )
    these.add_argument("--results", metavar="DIR", type=Path, help="the directory that sweeps write to")
    these.add_argument("--health", metavar="DIR", type=Path, help="the directory that health checks write to")
    these.add_argument("--state", metavar="DIR", type=Path, help=f"the ledger's directory (not installed: {STATE})")


def add_nodes(parser: argparse.ArgumentParser, what: str, optional: bool = False) -> None:
    """``NODES``, as a list."""
    parser.add_argument("nodes", metavar="NODES", nargs="?" if optional else None, help=f"{what}, as n2 or n[1-4,7]")


def nodes(args: argparse.Namespace) -> list[str]:
    """The nodes that the user has named; none where none had to be. Raises ``NearfarError`` for what is no list of nodes."""
    return [] if args.nodes is None else node_names.listed(args.nodes, "NODES")


def options(args: argparse.Namespace) -> ActOptions:
    """What is looked at: each directory as the user says, else as ``act`` was installed here. Raises ``NearfarError`` for a directory that
    is named and not there, also for an ``installed.json`` that cannot be read where it is needed."""
    for option, place in (("--results", args.results), ("--health", args.health)):
        if place is not None and not place.is_dir():
            raise NearfarError(f"{option} {place}: no such directory")
    state: Path | None = args.state
    known = None not in (args.results, args.health, state)
    installed = None if known else install.read(FOLDER)
    if installed is None or "act" not in installed.options.what:
        return ActOptions(read_policy(args.system), args.results, args.health, state or STATE)
    its = installed.options
    # A ledger that begins now knows of no drain and of nothing that was cleared.
    if state is not None and state.absolute() != Path(its.state) and not state.is_dir():
        raise NearfarError(f"--state {state}: no such directory; act of this machine keeps its ledger in {its.state}")
    # As the installed scripts, where this shell has no such variable: where the site's files and slurm.conf are.
    for name in ("NEARFAR_SITE", "SLURM_CONF"):
        if name in its.environment:
            os.environ.setdefault(name, its.environment[name])
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{its.path}".strip(":")
    return ActOptions(
        read_policy(args.system or its.system), args.results or Path(its.results), args.health or Path(its.health_output),
        state or Path(its.state),
    )  # fmt: skip
