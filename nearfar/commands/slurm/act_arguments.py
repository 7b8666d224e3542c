"""The arguments that ``act`` and the commands for people share: without them they look where this machine's ``act`` does."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from nearfar.base import NearfarError, printable
from nearfar.slurm import install
from nearfar.slurm.act import STATE, ActOptions, read_policy
from nearfar.slurm.controller import node_names
from nearfar.slurm.install import InstallOptions

#: Where `nearfar slurm install` writes down what it has installed, unless it is told another directory.
FOLDER = "/etc/nearfar"


def add(parser: argparse.ArgumentParser) -> None:
    """``--system``, ``--results``, ``--health`` and ``--state``."""
    these = parser.add_argument_group(
        "where to look", f"without these, as the act that {FOLDER}/installed.json speaks of"
    )
    these.add_argument("--system", metavar="NAME", help="whose `act` applies (default: the only file that has one)")
    these.add_argument("--results", metavar="DIR", type=Path, help="the directory that sweeps write to")
    these.add_argument("--health", metavar="DIR", type=Path, help="the directory of the nodes' health findings")
    these.add_argument("--state", metavar="DIR", type=Path, help=f"the ledger's directory (otherwise: {STATE})")


def add_nodes(parser: argparse.ArgumentParser, what: str, optional: bool = False) -> None:
    """``NODES``, as a list."""
    parser.add_argument("nodes", metavar="NODES", nargs="?" if optional else None, help=f"{what}, as n2 or n[1-4,7]")


def nodes(args: argparse.Namespace) -> list[str]:
    """The nodes that the user has named; none where none had to be. Raises ``NearfarError`` for what is no list of nodes."""
    return [] if args.nodes is None else node_names.listed(args.nodes, "NODES")


def add_because(parser: argparse.ArgumentParser, what: str) -> None:
    """``--because``, an administrator's word for the ledger."""
    parser.add_argument("--because", metavar="WORDS", help=f"{what}, for the ledger")


def because(args: argparse.Namespace) -> str:
    """The words, in one line. Raises ``NearfarError`` where there is none."""
    words = printable(" ".join((args.because or "").split()))
    if not words:
        raise NearfarError("give the reason, for the ledger: --because WORDS")
    return words


def options(args: argparse.Namespace) -> ActOptions:
    """What is looked at: each directory as the user says, else as ``act`` was installed here.

    Raises ``NearfarError`` for a directory that is named and not there, also for an ``installed.json`` that cannot be read where
    it is needed."""
    for option, place in (("--results", args.results), ("--health", args.health)):
        if place is not None and not place.is_dir():
            raise NearfarError(f"{option} {place}: no such directory")
    named = (args.results, args.health, args.state)
    installed = None if all(place is not None for place in named) else _installed()
    if installed is None:
        return ActOptions(read_policy(args.system), args.results, args.health, args.state or STATE)
    _refuse_another_ledger(args.state, Path(installed.state))
    _take_over(installed)
    return ActOptions(
        read_policy(args.system or _system(installed)),
        args.results or Path(installed.results),
        args.health or Path(installed.health_output),
        args.state or Path(installed.state),
    )


def _refuse_another_ledger(named: Path | None, installed: Path) -> None:
    """A ledger that begins now knows of no drain and of nothing that was cleared."""
    if named is not None and named.absolute() != installed and not named.is_dir():
        raise NearfarError(f"--state {named}: no such directory; act of this machine keeps its ledger in {installed}")


def needs_findings(looked: ActOptions) -> ActOptions:
    """The options themselves. Raises ``NearfarError`` where they name nothing to look at."""
    if looked.results is None and looked.health is None:
        raise NearfarError(
            "nothing to look at: name --results DIR, --health DIR, or both (nearfar slurm install writes down where they are)"
        )
    return looked


def _installed() -> InstallOptions | None:
    """What ``act`` of this machine was installed with; None where it was not."""
    installed = install.read(FOLDER)
    return installed.options if installed is not None and "act" in installed.options.what else None


def _system(installed: InstallOptions) -> str | None:
    words = (word.partition("=") for word in installed.act)
    return next((value for name, _, value in words if name == "--system"), None)


def _take_over(installed: InstallOptions) -> None:
    """The variables that the installed scripts set, where this shell has none: where the site's files and slurm.conf are."""
    for name in ("NEARFAR_SITE", "SLURM_CONF"):
        if name in installed.environment:
            os.environ.setdefault(name, installed.environment[name])
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{installed.path}".strip(":")
