"""``nearfar slurm status``: the fleet in one screen, or all that is known of one node."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD, CouldNotJudge
from nearfar.slurm.act import ActOptions, view
from nearfar.slurm.status import node_page, status_of, status_page

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm status                 every node in its group: what waits for you comes first
  nearfar slurm status n2              all that is known of one
  nearfar slurm status 'n[4,6-8]'      of several, one after the other
  nearfar slurm status --json          nearfar-slurm-status/1, for a script: docs/reference/slurm-status.md

It needs no rights, and writes nothing. What was done, and by whom: nearfar slurm log. docs/reference/messages.md has every cause.
exit codes: 0 nothing waits for a person; 2 wrong use, or no such node; 3 something does (a node that is in use though it was found
faulty, a drained one, stopped drains, a file that is not believed), slurmctld does not answer, or what there is could not be read
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "The fleet in one screen: who is good, suspect, drained by us or by others, and what waits for you; or some nodes."
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "all that is known of these", optional=True)
    parser.add_argument("--json", action="store_true", help="as JSON; of NODES their entries alone")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Look, and say what was seen."""
    names = act_arguments.nodes(args)
    options = act_arguments.needs_findings(act_arguments.options(args))
    seen = _look(options, names)
    for name in names:
        node_page.check_known(seen, name)
    fleet = status_of(seen, options, names)
    if args.json:
        print(json.dumps(status_page.document(fleet), indent=1, ensure_ascii=False))
    elif names:
        for line in (*([seen.trouble] if seen.trouble else []), *seen.refused, *seen.clocks):
            print(f"nearfar: {line}", file=sys.stderr)
        print("\n\n".join(node_page.one(seen, options.policy, node) for node in fleet.asked_for))
    else:
        print("\n".join(status_page.lines(fleet)))
    return EXIT_COULD_NOT_JUDGE if fleet.waits else EXIT_GOOD


def _look(options: ActOptions, names: Sequence[str]) -> view.ActView:
    """What is seen; where slurmctld does not answer, what the log and the results say. Raises for what cannot be read at all."""
    try:
        return view.look(options, act_arguments.slurm(), asked_for=names)
    except CouldNotJudge as error:
        return view.without_slurm(options, str(error), names)
