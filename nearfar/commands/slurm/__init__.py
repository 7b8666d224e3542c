"""``nearfar slurm …``: the pack under Slurm."""

from __future__ import annotations

import argparse
import importlib

#: What can be done, each with the line that ``nearfar slurm --help`` shows; a module of this package each.
COMMANDS = {
    "sweep": "measure many nodes, one job each, and judge them together",
    "node": "what a sweep's job runs on its node",
    "act": "drain, comment or resume nodes for what was found, as the site's file allows",
    "health": "a look at this node, for HealthCheckProgram",
}

_EPILOG = """examples:
  nearfar slurm sweep --partition gpu --pack accept
  nearfar slurm act --results /shared/nearfar --explain
  nearfar slurm act --help
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help of all of them."""
    parser.description = "Accept nodes, watch them every night, and act on what was found, under Slurm."
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(title="commands", dest="slurm_command", metavar="COMMAND", required=True)
    for name, words in COMMANDS.items():
        one = commands.add_parser(name, help=words, formatter_class=argparse.RawDescriptionHelpFormatter)
        module = importlib.import_module(f"nearfar.commands.slurm.{name}")
        module.configure(one)
        one.set_defaults(slurm_run=module.run, parser=one)


def run(args: argparse.Namespace) -> int:
    """Run the one that was named."""
    code: int = args.slurm_run(args)
    return code
