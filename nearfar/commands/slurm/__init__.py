"""``nearfar slurm …``: the pack under Slurm.

Needs: base, prometheus, slurm.act, slurm.controller, slurm.doctor, slurm.health, slurm.install, slurm.results, slurm.sweep,
slurm.telling, commands.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any

#: What can be done, each with the line that ``nearfar slurm --help`` shows; a module of this package each.
COMMANDS = {
    "sweep": "measure many nodes, one job each, and judge them together",
    "nightly": "measure idle nodes, and make way for everybody",
    "install": "scripts and timers for nightly runs, act and health checks, shown as a diff first",
    "doctor": "what is wrong with an installed site",
    "node": "what a sweep's job runs on its node",
    "act": "drain, comment or resume nodes for what was found, as the site's file allows",
    "health": "a look at this node, for HealthCheckProgram",
}

_EPILOG = """examples:
  nearfar slurm sweep --partition gpu --level accept
  nearfar slurm act --results /shared/nearfar --explain
  nearfar slurm act --help
"""


class _Command(argparse.ArgumentParser):
    """One of them; its module is imported when it is chosen: the health check has no time for the others'."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Arguments and help of the chosen one, then argparse's own way."""
        module = importlib.import_module(f"nearfar.commands.slurm.{self.prog.split()[-1]}")
        module.configure(self)
        self.set_defaults(slurm_run=module.run, parser=self)
        return super().parse_known_args(args, namespace)


def configure(parser: argparse.ArgumentParser) -> None:
    """The commands, and help."""
    parser.description = "Accept nodes, watch them every night, and act on what was found, under Slurm."
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(
        title="commands", dest="slurm_command", metavar="COMMAND", required=True, parser_class=_Command
    )
    for name, words in COMMANDS.items():
        commands.add_parser(name, help=words, formatter_class=argparse.RawDescriptionHelpFormatter)


def run(args: argparse.Namespace) -> int:
    """Run the one that was named."""
    code: int = args.slurm_run(args)
    return code
