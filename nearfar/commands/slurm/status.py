"""``nearfar slurm status``: the fleet in one screen, one node in full, and what was done."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD, CouldNotJudge, NearfarError, columns, parse_since
from nearfar.commands import print_json
from nearfar.slurm.act import View, admin_host, node_states, view_of
from nearfar.slurm.controller import Slurm
from nearfar.slurm.ledger import Ledger, actions
from nearfar.slurm.status import status_page, watchers

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm status                 all nodes by state, those that need you first
  nearfar slurm status n2              everything known about one node
  nearfar slurm status --since 7d      drains, clears and releases of the last week, and who did them
  nearfar slurm status --json          for scripts (schema: nearfar schema status)
  nearfar slurm status --export FILE   copy the ledger, to move act to another host

Needs no special rights and changes nothing. It shows what the last act recorded in the ledger, not results that arrived since.
exit codes: 0 nothing needs you; 2 wrong use, or no such node; 3 something does (a faulty node in use, a drained node, an untrusted
file, a sweep, act or health check that has stopped), or slurmctld does not answer (--since asks the ledger alone)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "List all nodes by state, those that need you first, or show everything known about some of them."
    )
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "show only these, in full", optional=True)
    parser.add_argument(
        "--since", metavar="TIME", help="list what was done since: 24h, 7d, a date (2026-11-20), a time (UTC), or all"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; with NODES, only their entries")
    parser.add_argument("--export", metavar="FILE", type=Path, help="write a copy of the ledger, for act --take-over")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Read the ledger and Slurm, and print what is asked for."""
    names, options = act_arguments.nodes(args), act_arguments.options(args)
    since = None
    if args.since is not None:
        since = 0.0 if args.since == "all" else parse_since(args.since, datetime.now(timezone.utc)).timestamp()
    ledger = Ledger.read_only(options.state)
    if ledger is None:
        why = "no ledger: act has never run here; see what it would do: nearfar slurm act --dry-run"
        raise CouldNotJudge(f"{options.state}: {why}")
    with ledger:
        if args.export is not None:
            if args.export.exists():
                raise NearfarError(f"--export {args.export}: it exists")
            ledger.export(args.export)
            return EXIT_GOOD
        if since is not None and not args.json:  # needs no Slurm
            done = [status_page.action_row(each) for each in status_page.of_nodes(ledger, names, since)]
            print("\n".join(columns(done)) or f"nothing was done since {args.since}")
            return EXIT_GOOD
        now, slurm = time.time(), Slurm()
        admin_host.check_owner(ledger, slurm.cluster())
        view = view_of(ledger, options, slurm.nodes(), actions.past(ledger, now), now, asked_for=names)
        return _print(args, view, ledger, names, since)


def _print(args: argparse.Namespace, view: View, ledger: Ledger, names: Sequence[str], since: float | None) -> int:
    status_page.check_known(view, names)
    watch = watchers(view, ledger)
    if args.json:
        document = {"cluster": ledger.meta("cluster"), **status_page.document(view, watch, names)}
        if since is not None:
            document["actions"] = [
                status_page.action_entry(each) for each in status_page.of_nodes(ledger, names, since)
            ]
        print_json(document)
    elif names:
        print("\n\n".join("\n".join(status_page.page(view, ledger, name)) for name in names))
    else:
        print("\n".join(status_page.lines(view, watch)))
    if names:
        waiting = any(view.fleet.nodes[name].state in node_states.WAITING for name in names)
        return EXIT_COULD_NOT_JUDGE if waiting else EXIT_GOOD
    return EXIT_COULD_NOT_JUDGE if status_page.waits(view, watch) else EXIT_GOOD
