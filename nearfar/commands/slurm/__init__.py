"""``nearfar slurm …``: the pack under Slurm.

Needs: base, prometheus, slurm.act, slurm.controller, slurm.health, slurm.install, slurm.ledger, slurm.results,
slurm.status, slurm.sweep, slurm.trust, commands,
commands.command_line.
"""

from __future__ import annotations

import argparse
import importlib

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


def configure(parser: Parser) -> None:
    """The commands, and help. Of a known command line only its command is imported: a health check has no time for the others."""
    parser.description = "Under Slurm: accept nodes, measure them every night, and drain faulty ones."
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(title="commands", dest="slurm_command", metavar="COMMAND", required=True)
    chosen = next((word for word in parser.words if word in COMMANDS), None)
    for name, words in COMMANDS.items():
        command = commands.add_parser(name, help=words, formatter_class=HelpFormatter)
        if chosen in (None, name):
            module = importlib.import_module(f"nearfar.commands.slurm.{name}")
            module.configure(command)
            command.set_defaults(slurm_run=module.run, parser=command)


def run(args: argparse.Namespace) -> int:
    """Run the one that was named; where there is no Slurm that is said before all else."""
    if args.slurm_command in NEED_SLURM:
        from nearfar.slurm.controller import Slurm  # a health check asks Slurm only to drain

        Slurm().refuse_absence()
    code: int = args.slurm_run(args)
    return code
