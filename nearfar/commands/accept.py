"""``nearfar accept``: a delivery beside its order: which nodes are accepted, refused, or measured again, and the record of it."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shlex
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar import cli, delivery, kit
from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_FAILED,
    EXIT_GOOD,
    NearfarError,
    minute_text,
    places,
    plural,
    say,
    site_directories,
    utc_text,
    utc_time,
    write_atomically,
)
from nearfar.delivery import ACCEPTED, AGAIN, REFUSED, Delivery, messages
from nearfar.history import short_name
from nearfar.report.blocks import Shown, shown_lines, shown_pdf
from nearfar.site import Order, lint
from nearfar.verdict import RunDirectory, run_directory

_EPILOG = """examples:
  nearfar lint                                             check the order (site/orders/rack-7.yaml)
  nearfar accept rack-7                                    show the decision on each node, and what is left to measure
  nearfar accept rack-7 --measure                          measure this node, then show the decisions
  nearfar accept rack-7 --measure --partition gpu          measure all nodes that are left under Slurm, one job each
  nearfar accept rack-7 --runs gathered/                   include runs from elsewhere, such as Ansible's or kits'
  nearfar accept rack-7 --record rack-7.zip                write the record: a PDF to sign, pages, verdicts, checksums
  nearfar accept rack-7 --record vendor.zip --anonymous    without host names, serial numbers and addresses

You can repeat a command: it keeps what was measured and measures the rest. Modelled runs are ignored.
docs/accept.md leads from the order to the record.

exit codes: 0 all nodes accepted, 1 a node or the whole delivery is refused, 2 wrong use, or an order that nearfar lint rejects,
3 a node must be measured (again), or the whole delivery is INDETERMINATE
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Accept a delivery: compare every node with the order, with the other nodes, and with healthy GPUs of its model.\n"
        "A node that is DEGRADED, could not be judged or was not measured is not accepted."
    )
    parser.epilog = _EPILOG
    parser.add_argument("order", metavar="ORDER", help="a file of site/orders/")
    parser.add_argument(
        "--measure", action="store_true", help="measure this node; with --partition, all nodes that are left"
    )
    parser.add_argument("--partition", metavar="P", help="with --measure: Slurm's partition")
    parser.add_argument(
        "--nodes", metavar="LIST", help="with --partition: these, as n[1-4,7], after a repair (default: what is left)"
    )
    parser.add_argument(
        "--runs", nargs="+", type=Path, default=[], metavar="DIR",
        help="also use runs found below these directories (always used: runs of the order's system in reports/, imported kits, "
        "and its sweeps)",
    )  # fmt: skip
    parser.add_argument(
        "--accept-degraded", nargs="+", default=[], metavar="NODE", help="accept these nodes although DEGRADED; the record states it"
    )  # fmt: skip
    parser.add_argument(
        "--record", type=Path, metavar="FILE.zip", help="write the record, and beside it FILE.pdf to sign"
    )
    parser.add_argument(
        "--anonymous", action="store_true", help="with --record: leave out host names, serial numbers and addresses"
    )
    parser.add_argument("--json", action="store_true", help="print the decisions as one JSON document")


def run(args: argparse.Namespace) -> int:
    """Measure what is left if asked, decide, show, write the record."""
    if args.partition and not args.measure:
        raise NearfarError("--partition: it goes with --measure")
    if args.nodes and not args.partition:
        raise NearfarError("--nodes: it goes with --partition")
    if args.anonymous and not args.record:
        raise NearfarError("--anonymous: it goes with --record")
    if args.record is not None and args.record.suffix != ".zip":
        raise NearfarError(f"--record {args.record}: name a file that ends in .zip")
    order = lint.sound_order(args.order, site_directories())
    decided = _decide(order, args)
    if args.measure:
        _measure(order, decided, args.partition, args.nodes)
        decided = _decide(order, args)
    when = utc_text()
    told = delivery.explained(decided)
    shown = delivery.shown(decided, _next_step(decided, args), when, told)
    if args.record is not None:
        _write(decided, shown, told, args, when)
    if args.json:
        sys.stdout.write(delivery.text(decided))
    else:
        print("\n".join(shown_lines(shown)))
        if args.record is not None:
            print(f"\n{args.record.with_suffix('.pdf')}\n{args.record}")
    whole = {each.verdict for each in decided.findings}
    if "FAIL" in whole or decided.counts[REFUSED]:
        return EXIT_FAILED
    return EXIT_COULD_NOT_JUDGE if "INDETERMINATE" in whole or decided.counts[AGAIN] or not decided.nodes else EXIT_GOOD


def _decide(order: Order, args: argparse.Namespace) -> Delivery:
    return delivery.assess(order, _runs(order, args.runs), site_directories(), args.accept_degraded)


def _runs(order: Order, elsewhere: Sequence[Path]) -> Iterator[RunDirectory]:
    """The runs below the directories that were named, and those of the order's system and nodes that are here."""
    reports = places.reports_directory()
    own = [reports / name for name in (order.system or "local", kit.SYSTEM, "sweeps")]
    for root in elsewhere:
        if not root.is_dir():
            raise NearfarError(f"--runs {root}: no such directory")
    told: set[Path] = set()
    for root in (*elsewhere, *own):
        unused: Counter[str] = Counter()
        holding = _holding_runs(root)
        if root in elsewhere and not holding:
            raise NearfarError(
                f"--runs {root}: no run below it: name a directory that holds run directories (run.json)"
            )
        for place in holding:
            folder = place.resolve()
            if folder in told:
                continue
            told.add(folder)
            try:
                found = run_directory.read(folder)
            except NearfarError as error:
                say(f"left out: {error}")
                continue
            if root in elsewhere:
                unused.update(_why_not_used(order, found))
            if root in elsewhere or _is_of(order, found):
                yield found
        for why, count in unused.items():
            say(f"noted: {plural(count, 'run')} below {root} {'is' if count == 1 else 'are'} not used: {why}")


def _why_not_used(order: Order, found: RunDirectory) -> list[str]:
    """Why a run says nothing of the order's nodes; empty where it does."""
    if found.nodes and all(node.modelled for node in found.nodes):
        return ["modelled"]
    systems = sorted({node.system for node in found.nodes if not node.modelled})
    return (
        [f"of system {', '.join(systems)}"]
        if order.system is not None and systems and order.system not in systems
        else []
    )


def _holding_runs(root: Path) -> list[Path]:
    """The directories with a run below one. Those that cannot be read are named: their runs may be what refuses a node."""

    def left_out(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            say(f"left out: {error.filename}: cannot be read: {error.strerror}")

    walked = os.walk(root, onerror=left_out)
    return sorted(Path(place) for place, folders, files in walked if "run.json" in (*folders, *files))


def _is_of(order: Order, found: RunDirectory) -> bool:
    """Whether a run that is here is of a node of the order: of its system, or of a name in its list."""
    names = {short_name(node.name) for node in found.nodes if not node.modelled}
    ours = order.system is None or any(node.system == order.system for node in found.nodes)
    return bool(names) and (names <= set(order.nodes) if order.nodes is not None else ours)


def _left(decided: Delivery) -> list[str]:
    """The nodes of which a measurement is missing, not only something to compare it with."""
    return [
        node.name
        for node in decided.nodes
        if node.decision == AGAIN and any(each.code != messages.UNJUDGED.code for each in node.missing)
    ]


def _measure(order: Order, decided: Delivery, partition: str | None, again: str | None) -> None:
    """Measure what is left with the commands that measure: this node, or a sweep."""
    system = ["--system", order.system] if order.system else []
    left = _left(decided)
    if partition is None:
        here = short_name(socket.gethostname())
        if order.nodes is not None and here not in order.nodes:
            raise NearfarError(
                f"{here} is none of the ordered nodes: run it on one of {delivery.folded(order.nodes)}, or name Slurm's --partition"
            )
        _run("validate", *system, "--acceptance")
        return
    if decided.nodes and not left and not again:
        say("nothing is left to measure; --nodes LIST measures nodes again")
        return
    chosen = ["--nodes", again or delivery.folded(left)] if again or left else []
    _run("slurm", "sweep", "--partition", partition, *chosen, "--level", "accept")


def _run(*words: str) -> None:
    """A command that measures; what it prints goes beside the decisions. Where it could not begin, or was interrupted, this ends too."""
    with contextlib.redirect_stdout(sys.stderr):
        code = cli.main(list(words))
    if code not in (EXIT_GOOD, EXIT_FAILED, EXIT_COULD_NOT_JUDGE):
        raise SystemExit(code)


def _next_step(decided: Delivery, args: argparse.Namespace) -> str:
    """What to do now, as a command with the runs and the names that this decision had."""
    name, left = shlex.quote(decided.order.name), _left(decided)
    given = {"--runs": args.runs, "--accept-degraded": args.accept_degraded}
    command = f"nearfar accept {name}" + "".join(
        f" {option} {shlex.join(map(str, values))}" for option, values in given.items() if values
    )
    unseen = max(decided.order.count - len(decided.nodes), 0)
    if left or unseen:
        some = ": ".join([plural(len(left) + unseen, "node"), *([delivery.folded(left)] if left else [])])
        return f"`{command} --measure` on each node, or once with `--partition P` under Slurm ({some} left)"
    unjudged = [node.name for node in decided.nodes if node.decision == AGAIN]
    if unjudged:
        return f"{messages.UNJUDGED.next}, then `{command}`: no measurement is missing of {delivery.folded(unjudged)}"
    refused = [node.name for node in decided.nodes if node.decision == REFUSED]
    if refused:
        again = f"`{command} --measure --partition P --nodes {shlex.quote(delivery.folded(refused))}`"
        return (
            f"`{command} --record {name}.zip` for the vendor (`--anonymous`: without names); after the repair {again}"
        )
    system = decided.order.system
    accepted = delivery.folded([node.name for node in decided.nodes if node.decision == ACCEPTED])
    tune = f", then `nearfar tune --system {system} --nodes '{accepted}'` for the site's references" if system else ""
    return f"`{command} --record {name}.zip`{tune}"


def _write(
    decided: Delivery, shown: Shown, told: Mapping[str, str], args: argparse.Namespace, when: str
) -> None:  # fmt: skip
    if args.anonymous:
        decided, told = delivery.anonymous(decided, told)
        shown = delivery.shown(decided, "", when, told)
    decisions = delivery.text(decided).encode("utf-8", "replace")
    shown = replace(shown, made=f"{shown.made} (SHA-256 {hashlib.sha256(decisions).hexdigest()})")
    pdf = shown_pdf(shown, f"decided {minute_text(utc_time(when))} UTC")
    content = delivery.record(decided, decisions, shown, pdf, with_runs=not args.anonymous)
    for path, data in ((args.record, content), (args.record.with_suffix(".pdf"), pdf)):
        write_atomically(path, data, "name another file with --record")
