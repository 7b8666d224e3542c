"""Options that have a new name: the old one is taken as well, and no help shows it."""

from __future__ import annotations

import argparse
from typing import Any

#: The old names, which scripts, timers and queued jobs may hold, and the new ones.
OPTIONS = {
    "--pack": "--level",
    "--window": "--max-jobs",
    "--settle": "--result-wait",
    "--reset-latch": "--allow-drains",
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
