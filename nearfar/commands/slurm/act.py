"""``nearfar slurm act``: what is to be done about nodes, and doing it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD, NearfarError
from nearfar.commands import metrics_option
from nearfar.slurm.act import DRAIN, STATE, ActOptions, clear, explain, read_policy, retest, view
from nearfar.slurm.controller import Slurm, node_names
from nearfar.slurm.sweep import LEVELS
from nearfar.slurm.telling import act_and_tell

from . import renamed

_EPILOG = """examples:
  nearfar slurm act --results /shared/nearfar --explain           what would be done about each node, and why
  nearfar slurm act --results /shared/nearfar --explain n2        all that is known of one
  nearfar slurm act --results /shared/nearfar --health /shared/nearfar-health
  nearfar slurm act --clear n2 --because "GPU 2 replaced"         after hard evidence: now a retest may release it
  nearfar slurm act --results /shared/nearfar --retest n2         inside a reservation; released if it passes
  nearfar slurm act --results /shared/nearfar --retest n4 --beside n2          drained for MPI between nodes
  nearfar slurm act --results /shared/nearfar --retest 'n[5-8]' --accept-delivered "new, not accepted"
  nearfar slurm act --allow-drains --because "reference was wrong"

Only the system file's `act` allows more than looking: docs/guide/slurm-act.md.
exit codes: 0 all that was decided is done, 1 a node did not pass its retest, 2 wrong use or no rights,
3 something is unclear or waits for a person (drains are stopped, hard evidence on many nodes at once)
"""


#: What a retest measures, unless the user says.
_LEVEL = "accept"
#: Options that mean something only beside another: without it they would run what was not asked for.
_PARTNERS = {
    "--because": ("--clear", "--allow-drains"), "--accept-delivered": ("--retest",), "--beside": ("--retest",),
    "--partition": ("--retest",), "--level": ("--retest",),
}  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Act on the findings of sweeps and health checks: comment, drain, resume, as the site's file allows."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--system", metavar="NAME", help="whose `act` applies (default: the only file that has one)")
    parser.add_argument("--results", metavar="DIR", type=Path, help="the directory that sweeps write to")
    parser.add_argument("--health", metavar="DIR", type=Path, help="the directory of the nodes' health findings")
    parser.add_argument(
        "--state", metavar="DIR", type=Path, default=STATE, help=f"the lock and the log (default: {STATE})"
    )
    metrics_option.add(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    what.add_argument("--explain", metavar="NODE", nargs="?", const="", help="say why, of one node or of all")
    what.add_argument(
        "--clear", metavar="NODES", help="a person has seen to these nodes: what was found until now is closed"
    )
    what.add_argument(
        "--retest", metavar="NODES", help="measure drained nodes again inside a reservation; release those that pass"
    )
    renamed.add(what, "--allow-drains", action="store_true", help="allow drains again after a cap has stopped them")
    parser.add_argument("--because", metavar="WORDS", help="why, for the log (with --clear and --allow-drains)")
    again = parser.add_argument_group("with --retest")
    again.add_argument(
        "--accept-delivered", metavar="REASON", help="also nodes that others drained with exactly this reason"
    )
    again.add_argument(
        "--beside", metavar="NODES", help="idle nodes to measure MPI between nodes with; they are reserved meanwhile"
    )
    again.add_argument("--partition", metavar="P", help="Slurm's partition (default: the only one that has them all)")
    renamed.add(again, "--level", choices=list(LEVELS), help=f"what is measured (default: {_LEVEL})")
    parser.add_argument("--json", action="store_true", help="the decisions as JSON")


def run(args: argparse.Namespace) -> int:
    """Look, or act."""
    _refuse_without_partners(args)
    slurm = Slurm()
    if args.allow_drains:
        print(f"drains are allowed again; they were stopped because: {clear.allow_drains(args.state, _because(args))}")
        return EXIT_GOOD
    options = ActOptions(read_policy(args.system), args.results, args.health, args.state)
    if args.clear is not None:
        because = _because(args)
        for node in node_names.listed(args.clear, "--clear"):
            print(f"{node}: written down; {clear.clear(options, node, because, slurm)}")
        return EXIT_GOOD
    if args.retest is not None:
        return _retest(args, options, slurm)
    if options.results is None and options.health is None:
        raise NearfarError("nothing to act on: name --results DIR, --health DIR, or both")
    problems: tuple[str, ...] = ()
    if args.dry_run or args.explain is not None:
        seen, done = view.look(options, slurm, node=args.explain or None), None
    else:
        told = act_and_tell(options, slurm, metrics_option.of(args))
        seen, done, problems = told.seen, told.done, told.problems
    for line in (*seen.refused, *seen.clocks, *problems):
        print(f"nearfar: {line}", file=sys.stderr)
    if args.json:
        print(json.dumps(explain.document(seen, done, args.explain or ""), indent=1, ensure_ascii=False))
    elif args.explain:
        print(explain.one(seen, options.policy, args.explain))
    else:
        print(explain.all_nodes(seen, options.policy, done, why=args.explain is not None))
    held = any(b.hard and options.policy.step(b.check, True) == DRAIN for b in seen.decisions.blamed)
    undone = done and (done.unclear or any(done.problems.values()))
    waits = seen.decisions.stop or seen.past.stopped or held or undone or seen.refused or seen.other_systems
    return EXIT_COULD_NOT_JUDGE if waits else EXIT_GOOD


def _refuse_without_partners(args: argparse.Namespace) -> None:
    given = {f"--{name.replace('_', '-')}" for name, value in vars(args).items() if value not in (None, False)}
    for option, partners in _PARTNERS.items():
        if option in given and not given & set(partners):
            raise NearfarError(f"{option} goes with {' or '.join(partners)}; nothing was done")


def _retest(args: argparse.Namespace, options: ActOptions, slurm: Slurm) -> int:
    request = retest.RetestOptions(
        args.retest, args.level or _LEVEL, args.partition, args.accept_delivered, args.beside
    )
    outcome = retest.run(request, options, slurm, lambda line: print(line, file=sys.stderr))
    for node, words in outcome.words.items():
        print(f"{node:<12} {'released' if node in outcome.passed else 'drained':<13} {words}")
    return EXIT_GOOD if set(outcome.passed) == set(outcome.words) else EXIT_FAILED


def _because(args: argparse.Namespace) -> str:
    if not args.because:
        raise NearfarError("say why, for the log: --because WORDS")
    return str(args.because)
