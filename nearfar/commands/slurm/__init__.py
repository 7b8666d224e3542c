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
    "sweep": "measure many nodes, one job each, and write one page of the results",
    "status": "list all nodes by state, show one in full, or list recent drains and releases",
    "act": "drain faulty nodes, as your system file allows",
    "clear": "close a node's findings after a repair, and return it to service unmeasured",
    "retest": "measure drained nodes in a reservation, and release those that pass",
    "health": "check this node in seconds (for HealthCheckProgram, prolog and epilog)",
    "install": "install scripts and timers for nightly sweeps, act and health checks",
    "doctor": "check the installation",
    "node": "measure this node; a sweep's jobs run it",
}

#: Those that ask slurmctld. The others run on a node, or on the host that installs.
NEED_SLURM = ("sweep", "status", "act", "clear", "retest")

_EPILOG = """examples:
  nearfar slurm sweep --partition gpu --level accept
  nearfar slurm status
  nearfar slurm status --since 7d
  nearfar slurm retest n2

docs/slurm.md sets up nightly sweeps; docs/drains.md explains drains and repairs.
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
    parser.description = "Under Slurm: accept nodes, measure them every night, and drain faulty ones."
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
