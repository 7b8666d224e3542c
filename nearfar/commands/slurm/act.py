"""``nearfar slurm act``: what is to be done about nodes, and doing it."""

from __future__ import annotations

import argparse
import json
import sys

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD
from nearfar.commands import metrics_option
from nearfar.slurm.act import explain, held_nodes, view
from nearfar.slurm.telling import act_and_tell

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm act --dry-run                                    what it would do now
  nearfar slurm act                                              and do it; `nearfar slurm install` writes the timer
  nearfar slurm act --results /shared/nearfar --health /shared/nearfar-health --state /var/lib/nearfar/act

Only the system file's `act` allows more than looking: docs/guide/slurm-act.md.
For people: nearfar slurm status | log | retest | clear | release | allow-drains.
exit codes: 0 all that was decided is done, 2 wrong use or no rights, 3 something could not be read or done, or a person has to act first
(drains stopped or held, the same fault on many nodes, a faulty node in use, a result not believed, a clock that is off). Where nodes
that are drained already wait for a person, act ends with 0 and status with 3. 1 is not used: a node that failed is act's daily work.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Read what sweeps and health checks have found since the last call, decide, and do it: comment, drain, resume, as the "
        "site's file allows."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--json", action="store_true", help="the decisions as JSON (nearfar-act/1)")
    act_arguments.add(parser)
    metrics_option.add(parser)


def run(args: argparse.Namespace) -> int:
    """Look, or act."""
    options, slurm = act_arguments.needs_findings(act_arguments.options(args)), act_arguments.slurm()
    problems: tuple[str, ...] = ()
    if args.dry_run:
        seen, done = view.look(options, slurm), None
    else:
        act_arguments.on_behalf(options.state)
        told = act_and_tell(options, slurm, metrics_option.of(args))
        seen, done, problems = told.seen, told.done, told.problems
    for line in (*seen.refused, *seen.clocks, *problems):
        print(f"nearfar: {line}", file=sys.stderr)
    if args.json:
        print(json.dumps(explain.document(seen, done), indent=1, ensure_ascii=False))
    else:
        print(explain.all_nodes(seen, options.policy, done))
    undone = done and (done.unclear or any(done.problems.values()))
    return EXIT_COULD_NOT_JUDGE if undone or held_nodes.waits(seen, options.policy) else EXIT_GOOD
