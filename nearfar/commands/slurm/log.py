"""``nearfar slurm log``: what was done about nodes and seen of them."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Collection

from nearfar.base import EXIT_GOOD, NearfarError, second_text, utc_text
from nearfar.slurm.controller import node_names
from nearfar.slurm.findings import ActLog
from nearfar.slurm.status import events, since

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm log                          the last seven days, oldest first
  nearfar slurm log 'n[2-4]' --since 24h
  nearfar slurm log n2 --since 2026-11-01
  nearfar slurm log --since all --json       nearfar-slurm-log/1: docs/reference/slurm-status.md

One line each: time (UTC), node, what, who, why. "held" are nodes that are not drained for what was found, and why.
FLAPS marks a node that was drained again after it had been in use, by whomever, as often and as soon as the site's file says (flaps;
without one: twice within a day). What others do is seen by act's next call: Slurm keeps no record of who resumed a node. It needs no
rights, and writes nothing.
exit codes: 0 it was read; 2 wrong use, no such directory, or a node that neither the log nor Slurm knows; 3 the log cannot be read
"""
_SINCE = "7d"


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "What was done about nodes and seen of them: drains, clears, reboots, resumes, retests, what is held."
    )
    parser.epilog = _EPILOG
    act_arguments.add_nodes(parser, "of these alone", optional=True)
    parser.add_argument(
        "--since", metavar="TIME", default=_SINCE, help=f"24h, 7d, a date, a time (UTC), or all (default: {_SINCE})"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    act_arguments.add(parser)


def run(args: argparse.Namespace) -> int:
    """Read the log, and print what is asked for."""
    now = time.time()
    first, names = since(args.since, now), act_arguments.nodes(args)
    state = act_arguments.state(args)
    if not state.is_dir():
        raise NearfarError(f"{state}: no such directory: act has not run here; name its directory: --state DIR")
    entries = ActLog(state).entries()
    _refuse_unknown(set(names) - {entry.node for entry in entries})
    found = events(entries, names, first, act_arguments.flap_rule(args))
    if args.json:
        document = {"schema": "nearfar-slurm-log/1", "since": utc_text(first), "until": utc_text(now), "events": []}
        print(json.dumps({**document, "events": [event.document for event in found]}, indent=1, ensure_ascii=False))
        return EXIT_GOOD
    event = None
    for event in found:
        print(event.line)
    if event is None:
        which = f" of {args.nodes}" if names else ""
        print(f"nothing{which} since {second_text(first)}; {state / 'log.jsonl'}")
    return EXIT_GOOD


def _refuse_unknown(names: Collection[str]) -> None:
    """Raise ``NearfarError`` where Slurm says that it has no such nodes; it is asked for those alone that the log does not know."""
    try:
        unknown = sorted(set(names) - act_arguments.slurm().nodes().keys()) if names else []
    except NearfarError:  # the log can be read where Slurm cannot be asked
        return
    if unknown:
        raise NearfarError(f"{node_names.fold(unknown)}: Slurm has no such node, and the log knows nothing of it")
