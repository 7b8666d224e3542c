"""``nearfar slurm …``: the pack under Slurm.

Needs: base, prometheus, slurm.act, slurm.controller, slurm.doctor, slurm.health, slurm.install, slurm.ledger, slurm.results,
slurm.status, slurm.sweep, slurm.telling, slurm.trust, commands,
commands.command_line.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from nearfar.commands.command_line import HelpFormatter, Parser

#: What can be done, each with the line that ``nearfar slurm --help`` shows; a module of this package each.
COMMANDS = {
    "sweep": "measure many nodes, one job each, and judge them together; --idle: beside the users' jobs",
    "status": "the fleet in one screen, one node in full, or what was done",
    "act": "drain or comment nodes for what was found, as the site's file allows",
    "clear": "record that nodes were repaired or checked, and put them back",
    "retest": "measure drained nodes again inside a reservation; release those that pass",
    "health": "check this node, for HealthCheckProgram, prolog and epilog",
    "install": "scripts and timers for nightly runs, act and health checks, shown as a diff first",
    "doctor": "check what nearfar slurm install has installed",
    "node": "what a sweep's job runs on its node",
}

#: Those that ask slurmctld. The others run on a node, or on the host that installs.
NEED_SLURM = ("sweep", "status", "act", "clear", "retest")

_EPILOG = """examples:
  nearfar slurm sweep --partition gpu --level accept
  nearfar slurm status
  nearfar slurm status --since 7d
  nearfar slurm retest n2

docs/slurm.md: from nothing to a nightly sweep. docs/drains.md: drains and repairs.
"""


class _Command(Parser):
    """One of them; its module is imported when it is chosen: the health check has no time for the others'."""

    _has_arguments = False

    def take_arguments(self) -> None:
        """Arguments and help of the chosen one, once."""
        if not self._has_arguments:
            module = importlib.import_module(f"nearfar.commands.slurm.{self.prog.split()[-1].replace('-', '_')}")
            module.configure(self)
            self.set_defaults(slurm_run=module.run, parser=self)
            self._has_arguments = True

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Argparse's own way, with the arguments."""
        self.take_arguments()
        return super().parse_known_args(args, namespace)


def take_arguments_of(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Give the command that these words choose its arguments: completion looks at a parser before it parses."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for chosen in (action.choices[word] for word in words if word in action.choices):
                if isinstance(chosen, _Command):
                    chosen.take_arguments()
                else:
                    take_arguments_of(chosen, words)


def configure(parser: argparse.ArgumentParser) -> None:
    """The commands, and help."""
    parser.description = "Accept nodes, watch them every night, and drain what was found faulty, under Slurm."
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(
        title="commands", dest="slurm_command", metavar="COMMAND", required=True, parser_class=_Command
    )
    for name, words in COMMANDS.items():
        commands.add_parser(name, help=words, formatter_class=HelpFormatter)


def run(args: argparse.Namespace) -> int:
    """Run the one that was named; where there is no Slurm that is said before all else."""
    if args.slurm_command in NEED_SLURM:
        from nearfar.slurm.controller import Slurm  # the health check has no time for it

        Slurm().refuse_absence()
    code: int = args.slurm_run(args)
    return code
