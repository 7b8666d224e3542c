"""Options that have a new name, which is taken as well, and options that have become commands, which is said; no help shows them."""

from __future__ import annotations

import argparse
from typing import Any

from nearfar.base import NearfarError

#: The old names, which scripts, timers and queued jobs may hold, and the new ones.
OPTIONS = {
    "--pack": "--level",
    "--window": "--max-jobs",
    "--settle": "--result-wait",
}
#: Former options of ``act``, and what does it now.
MOVED = {
    "--explain": "nearfar slurm status, or of one: nearfar slurm status NODE",
    "--retest": "nearfar slurm retest NODES",
    "--accept-delivered": "nearfar slurm retest NODES --accept-delivered REASON",
    "--beside": "nearfar slurm retest NODES --beside NODES",
    "--partition": "nearfar slurm retest NODES --partition P",
    "--level": "nearfar slurm retest NODES --level LEVEL",
    "--pack": "nearfar slurm retest NODES --level LEVEL",
    "--clear": "nearfar slurm clear NODES --because WORDS",
    "--because": "nearfar slurm clear NODES --because WORDS, nearfar slurm allow-drains --because WORDS",
    "--allow-drains": "nearfar slurm allow-drains --because WORDS",
    "--reset-latch": "nearfar slurm allow-drains --because WORDS",
}


def add(parser: argparse._ActionsContainer, option: str, **settings: Any) -> None:
    """Add an option, and its old name without help."""
    action = parser.add_argument(option, **settings)
    hidden = {**settings, "dest": action.dest, "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    for old in (old for old, new in OPTIONS.items() if new == option):
        parser.add_argument(old, **hidden)


def today(words: str) -> str:
    """An option with its value (``--window=4``) under today's name."""
    option, equals, value = words.partition("=")
    return f"{OPTIONS.get(option, option)}{equals}{value}"


class _Moved(argparse.Action):
    """Raises ``NearfarError`` with the command that does it now."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        """At the option's turn, before anything is done."""
        raise NearfarError(f"{option} is a command of its own now: {MOVED[self.option_strings[0]]}; nothing was done")


def refuse_moved(parser: argparse.ArgumentParser) -> None:
    """Let former options of ``act`` end in one line."""
    for option in MOVED:
        parser.add_argument(option, nargs="*", action=_Moved, help=argparse.SUPPRESS)
