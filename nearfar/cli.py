"""The command line: ``nearfar COMMAND …``. Thin: every command lives in ``nearfar/commands/``."""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from nearfar import __version__
from nearfar.base import EXIT_COULD_NOT_JUDGE, NearfarError, places, standard_streams
from nearfar.commands.command_line import HelpFormatter, Parser

#: The commands by what they are for, each with the line that ``nearfar --help`` shows. Only the one that is called is imported.
GROUPS = {
    "measure": {
        "validate": "run the checks and judge this node (./validate also installs what is missing)",
        "slurm": "sweeps over many nodes, health checks, and drains, under Slurm",
        "kit": "make an archive that measures nodes where nothing can be installed",
        "import": "judge the results of a kit or of another tool, and write a page",
        "accept": "compare delivered nodes with the order: accept or refuse each, and write the record",
    },
    "describe": {
        "detect": "show this node's parts and links, or write a first site file",
        "lint": "check your site files: schema, physical limits, names that match no check",
        "predict": "compute the rate each path should reach on a node type, and what limits it",
    },
    "judge": {
        "tune": "make references from your own runs, shown as a diff",
        "history": "show figures of a node over time, or across nodes",
        "compare": "list what changed significantly between two runs or sets of runs",
        "diagnose": "name the degraded part that explains slow figures",
        "report": "write a run's page again from its files",
        "explain": "explain a finding's code and what to do, or whether a rate is usual",
    },
    "use": {
        "bind": "write launch scripts that bind each rank near its GPU or NIC",
        "cost": "measure what a binding costs your program",
        "reproduce": "compare a published table or figure with the model and your run",
        "osu": "run OSU's MPI benchmarks with bound ranks, in every placement on this node",
    },
    "plumbing": {
        "calibrate": "compute a node's link and memory capacities from measurements",
        "metrics": "print a run's figures for Prometheus",
        "schema": "print the JSON schemas of nearfar's files",
        "spack": "register this system's packages with Spack",
    },
}
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}
#: What a newcomer needs, in this order.
FIRST = {
    "detect": "describe this node",
    "validate": "measure it and judge every path",
    "tune": "make references from your own runs",
    "bind": "start your program on the right cores",
    "slurm": "measure all your nodes every night",
}
#: The modules of commands that are not called as these are.
_MODULES = {"kit": "kit.make", "import": "kit.take"}
#: The exit code of a command that Ctrl-C ended, as shells have it.
EXIT_INTERRUPTED = 130

#: The line of NAME in the manual page.
SUMMARY = "measure and judge the paths through a multi-GPU node"

_EPILOG = """nearfar COMMAND --help lists the options of a command, with examples.

examples:
  nearfar detect
  nearfar predict --node summit n0:g0+n0:g1
  nearfar validate --system keeneland

completion in bash and zsh:
  eval "$(register-python-argcomplete nearfar)"

exit codes: 0 good or degraded, 1 the node failed, 2 wrong use, 3 it could not be judged, 130 interrupted
"""


def parser(chosen: str | None, words: Sequence[str] = ()) -> Parser:
    """The parser of all commands; only the chosen one knows its arguments. ``words``: the command line, if it is known."""
    top = Parser(
        prog="nearfar", epilog=_EPILOG, formatter_class=HelpFormatter,
        description="Measure every path through a multi-GPU node, and name the part to blame where one is slow or wrong.",
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"nearfar {__version__}")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, formatter_class=HelpFormatter)
        if name == chosen:
            module = importlib.import_module(f"nearfar.commands.{_MODULES.get(name, name)}")
            command.words = words
            module.configure(command)
            command.set_defaults(run=module.run, parser=command)
    _show_groups(top, commands)
    return top


def _show_groups(top: Parser, commands: Any) -> None:
    """Help shows the commands below the heading of each group, in place of one list."""
    top._action_groups = [group for group in top._action_groups if group is not top._subparsers]
    first = [commands._ChoicesPseudoAction(name, (), line) for name, line in FIRST.items()]
    top.add_argument_group("start with")._group_actions += first
    for title, names in GROUPS.items():
        top.add_argument_group(title)._group_actions += [one for one in commands._choices_actions if one.dest in names]


def _complete() -> None:
    """Tell the shell what may follow the words in ``COMP_LINE``, and exit; the epilog says how that is switched on. Without argcomplete
    nothing is said."""
    try:
        import argcomplete
    except ImportError:
        return
    from nearfar.commands.command_line import values

    words = os.environ["COMP_LINE"].split()[1:]
    argcomplete.autocomplete(parser(_chosen(words), words), default_completer=values)  # type: ignore[arg-type]  # a function does as well


def _chosen(words: Sequence[str]) -> str | None:
    """The command among the words of a command line."""
    return next((word for word in words if not word.startswith("-")), None)


def pasteable(text: str) -> str:
    """``text`` with the commands in it as this shell can run them: ``nearfar COMMAND`` unchanged where ``nearfar`` is on the PATH
    (``. ./activate`` puts it there), else with the path of the checkout's ``bin/nearfar``; ``./validate`` with its path outside of the
    checkout.
    """
    if not shutil.which("nearfar"):
        # Neither "bin/nearfar tune" nor "this nearfar reads".
        text = _as_found_here(
            text, rf"(?<![\w./-])nearfar(?= (?:{'|'.join(COMMANDS)})\b)", places.IMPORT_PATH / "bin" / "nearfar"
        )
    if Path.cwd() != places.CHECKOUT:
        text = _as_found_here(text, r"(?<!\S)\./validate\b", places.IMPORT_PATH / "validate")
    return text


def _as_found_here(text: str, name: str, command: Path) -> str:
    """``text`` with the path of ``command``, from the working directory where it is below that, in place of the pattern ``name``;
    unchanged where there is no such file (nearfar without a checkout)."""
    if not os.access(command, os.X_OK):
        return text
    path = os.path.relpath(command) if command.is_relative_to(Path.cwd()) and Path.cwd() != Path("/") else str(command)
    return re.sub(name, lambda _: shlex.quote(path), text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code. A user's error is one line, never a traceback. A reader of its output that goes away changes
    neither what is done nor the code."""
    output = standard_streams.prepare()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if {"_ARGCOMPLETE", "COMP_LINE"} <= set(os.environ):
        _complete()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a locale without the character: as on standard error
    try:
        parsed, rest = parser(_chosen(words), words).parse_known_args(words)
        if rest:
            parsed.parser.error(f"unrecognized arguments: {' '.join(rest)}")  # with the command's own usage
        code: int = parsed.run(parsed)
        sys.stdout.flush()
        if output is not None and output.problem is not None:
            print(
                f"nearfar: standard output cannot be written: {output.problem}; send it to another place",
                file=sys.stderr,
            )
            return code or EXIT_COULD_NOT_JUDGE
        return code
    except NearfarError as error:
        print(f"nearfar: {pasteable(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("nearfar: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno == errno.ENOSPC:
            print("nearfar: the disk is full: not all could be written", file=sys.stderr)
        elif error.filename is not None:
            print(f"nearfar: {error.filename}: {error.strerror}", file=sys.stderr)
        else:
            raise
        return EXIT_COULD_NOT_JUDGE


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
