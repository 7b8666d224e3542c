"""``nearfar slurm act``: drain the nodes that were found faulty."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD, NearfarError
from nearfar.commands import metrics_option
from nearfar.slurm.act import ActResult, NodeStatus, admin_host, dry_run, node_states
from nearfar.slurm.controller import Slurm, node_names
from nearfar.slurm.status import act_and_tell, status_page
from nearfar.slurm.trust import go_on_as_owner

from . import act_arguments

_EPILOG = """examples:
  nearfar slurm act --dry-run                                    show what it would do now
  nearfar slurm act                                              do it; `nearfar slurm install` installs the timer
  nearfar slurm act --take-over old.db                           continue on this host with another host's ledger

Without an `act` section in the system file it only observes: docs/drains.md.
Commands for you: nearfar slurm status | retest | clear.
exit codes: 0 done; 2 wrong use or no rights; 3 something could not be read or done, or you must decide first
(a faulty node in use, an untrusted result, a wrong clock). A FAIL does not give exit code 1: draining the node is act's normal work.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Read what sweeps and health checks found, and drain nodes as your system file allows."
    parser.epilog = _EPILOG
    parser.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    parser.add_argument(
        "--take-over", metavar="FILE",
        help="make this host the one that runs act for the cluster. FILE: the old host's export (nearfar slurm status --export), "
        "or `none` for an empty ledger",
    )  # fmt: skip
    act_arguments.add(parser)
    metrics_option.add(parser)


def run(args: argparse.Namespace) -> int:
    """Look, or act."""
    options, slurm = act_arguments.options(args), Slurm()
    if args.take_over is not None:
        if args.dry_run:
            raise NearfarError("--take-over with --dry-run: choose one")
        go_on_as_owner(options.state)
        print(admin_host.take_over(options.state, slurm, args.take_over))
        return EXIT_GOOD
    if options.results is None and options.health is None:
        raise NearfarError("nothing to look at: name --results DIR, --health DIR, or both")
    problems: list[str] = []
    if args.dry_run:
        result = ActResult(dry_run(options, slurm))
    else:
        go_on_as_owner(options.state)
        result, problems = act_and_tell(options, slurm, metrics_option.of(args))
    view = result.view
    for line in (*view.refused, *view.clocks, *problems):
        print(f"nearfar: {line}", file=sys.stderr)
    print("\n".join(_lines(result, args.dry_run)) or f"{options.policy.system}: nothing to do")
    undone = result.unclear or any(problem for _, problem in result.done)
    # What keeps act from doing its part. Drained nodes do not: it has done its part.
    held = view.fleet.of_state(node_states.HELD) or view.fleet.in_doubt
    waits = undone or held or view.refused or view.clocks or view.other_systems
    return EXIT_COULD_NOT_JUDGE if waits else EXIT_GOOD


def _lines(result: ActResult, dry: bool) -> Iterator[str]:
    yield from (*result.recovered, *result.unclear)
    nodes, acted = result.view.fleet.nodes.values(), {status.node for status, _ in result.done}
    would = [(status, None) for status in nodes if dry and status.action != node_states.NOTHING]
    for did, problem in (*result.done, *would):
        acted.add(did.node)
        yield f"{did.node:<12} {'not done' if problem else f'would {did.action}' if dry else did.action:<13} {problem or did.reason}"
        yield f"{'':<12} {'':<13} {did.cause.reason}"
    for state in node_states.STATES:
        for these in status_page.alike([s for s in nodes if s.state == state and s.node not in acted and _is_shown(s)]):
            yield f"{node_names.fold(s.node for s in these):<12} {state:<13} {': '.join(status_page.said_of(these))}"
    yield from (f"blamed on no node: {fault.words}" for fault in result.view.fleet.shared)
    count = len(result.view.refused)
    if count:
        yield f"{count} file{'s were' if count > 1 else ' was'} not believed: what is wrong with the nodes they speak of is not known"
    yield from (*result.view.other_systems, *result.view.facts.caps().over)


def _is_shown(status: NodeStatus) -> bool:
    """Whether there is something to say of a node that nothing is done about: also that its FAILs are no grounds for a drain."""
    if status.state in (*node_states.WAITING, node_states.RETEST):
        return True
    failed = status.evidence is not None or status.cause.fields.get("verdict_of") == "FAIL"
    return failed and status.state != node_states.GOOD
