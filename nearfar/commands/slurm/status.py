"""``nearfar slurm status``: the fleet in one screen, or all that is known of one node."""

from __future__ import annotations

import argparse
import json
import sys

from nearfar.base import EXIT_GOOD
from nearfar.slurm.act import explain, view

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm status                 what would be done about each node, and why
  nearfar slurm status n2              all that is known of one
  nearfar slurm status --json

It needs no rights, and writes nothing.
exit codes: 0 it was read, 2 wrong use, or no such node; 3 it could not be
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "What is known of the fleet, or of one node, and what is to be done."
    parser.epilog = _EPILOG
    parser.add_argument("node", metavar="NODE", nargs="?", help="all that is known of this one")
    parser.add_argument("--json", action="store_true", help="as JSON")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Look, and say what was seen."""
    options = act_arguments.needs_findings(act_arguments.options(args))
    seen = view.look(options, act_arguments.slurm(), node=args.node)
    for line in (*seen.refused, *seen.clocks):
        print(f"nearfar: {line}", file=sys.stderr)
    if args.json:
        print(json.dumps(explain.document(seen, None, args.node or ""), indent=1, ensure_ascii=False))
    elif args.node:
        print(explain.one(seen, options.policy, args.node))
    else:
        print(explain.all_nodes(seen, options.policy, None, why=True))
    return EXIT_GOOD
