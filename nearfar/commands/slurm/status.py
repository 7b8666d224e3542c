"""``nearfar slurm status``: the fleet in one screen, or all that is known of one node."""

from __future__ import annotations

import argparse
import json
import sys

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD
from nearfar.slurm.act import view
from nearfar.slurm.status import TO_TEST, WAITS, FleetStatus, node_page, status_of, status_page

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm status                 every node in its group: what waits for you comes first
  nearfar slurm status n2              all that is known of one
  nearfar slurm status --json          nearfar-slurm-status/1, for a script: docs/reference/slurm-status.md

It needs no rights, and writes nothing. What was done, and by whom: nearfar slurm log. docs/guide/when-it-says.md has every word.
exit codes: 0 nothing waits for a person; 2 wrong use, or no such node; 3 something does (a drained node, stopped drains, a file that
is not believed), or what there is could not be read
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "The fleet in one screen: who is good, suspect, drained by us or by others, and what waits for you; or one node."
    parser.epilog = _EPILOG
    parser.add_argument("node", metavar="NODE", nargs="?", help="all that is known of this one")
    parser.add_argument("--json", action="store_true", help="as JSON; of NODE its entry alone")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Look, and say what was seen."""
    options = act_arguments.needs_findings(act_arguments.options(args))
    seen = view.look(options, act_arguments.slurm(), node=args.node)
    page = None if args.node is None else node_page.one(seen, options.policy, args.node)
    fleet = status_of(seen, options)
    if args.json:
        print(json.dumps(_document(fleet, args.node), indent=1, ensure_ascii=False))
    elif page is not None:
        for line in (*seen.refused, *seen.clocks):
            print(f"nearfar: {line}", file=sys.stderr)
        print(page)
    else:
        print("\n".join(status_page.lines(fleet)))
    waits = fleet.waits if args.node is None else _group(fleet, args.node) in (WAITS, TO_TEST)
    return EXIT_COULD_NOT_JUDGE if waits else EXIT_GOOD


def _group(fleet: FleetStatus, name: str) -> str | None:
    return next((node.group for node in fleet.nodes if node.node == name), None)


def _document(fleet: FleetStatus, name: str | None) -> dict[str, object]:
    document = status_page.document(fleet)
    if name is not None:
        document["nodes"] = [node for node in document["nodes"] if node["node"] == name]
    return document
