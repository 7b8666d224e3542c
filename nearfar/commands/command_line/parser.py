"""How wrong use of a command is said: one line, the unknown option before what is missing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from nearfar.base import EXIT_WRONG_USE, did_you_mean


class Parser(argparse.ArgumentParser):
    """argparse's, without the usage in front of an error: a misspelt option is not hidden by an argument that is missing."""

    #: The command line that is parsed, where it is known before.
    words: Sequence[str] = ()
    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it; the words are kept for an error."""
        self._words = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """A command that does not exist gets a guess in place of the list of all."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            guess = did_you_mean(value, list(action.choices), else_all=False)
            self.error(f"unknown command '{value}'{guess}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with 2."""
        known = [name for name in self._option_string_actions if name.startswith("--")]
        arguments = self._words if self._subparsers is None else ()  # else a command's own options are among them
        for argument in arguments:
            name = argument.partition("=")[0]
            if name == "--":
                break
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                message = f"unknown option {name}{did_you_mean(name, known, else_all=False)}"
                break
        self.exit(EXIT_WRONG_USE, f"{self.prog}: {message}; --help shows examples\n")
