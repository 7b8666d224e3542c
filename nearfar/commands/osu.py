"""``nearfar osu``: OSU's MPI benchmarks with the ranks bound, in every placement of this node; a table or a document."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD, NearfarError, columns, grouped, listed, node_lock
from nearfar.measurement import EXPECTED_SKIPS, dump, loads
from nearfar.mpi.osu import (
    BENCHMARKS,
    Interrupted,
    MpiCase,
    Options,
    cases,
    disturbances,
    figures,
    hosts,
    installed,
    measure,
    parse,
)
from nearfar.site import drain_policy
from nearfar.topology import inventory

from .command_line import positive, refuse_outside

_EPILOG = """\
examples:
  nearfar osu                                          every benchmark in every placement on this node
  nearfar osu --benchmark osu_latency --runs 6         six runs or more give an interval
  nearfar osu osu_bw/H-H/across_packages --json        one case, as a measurement document
  nearfar osu --list

A case is BENCHMARK/BUFFERS/PLACEMENT[/xRANKS][/DEVICE]: buffers in host (H) or device (D) memory, such as D-H; a placement such as
same_numa_node, across_packages or near; a number of ranks; a GPU, two GPUs or a NIC. --list prints the cases of this node.

nearfar finds OSU by NEARFAR_OSU=/its/prefix or on the PATH (a module, a Spack environment), and mpirun beside OSU's MPI library;
NEARFAR_MPIRUN names another one. If another run measures on this node, this one waits NEARFAR_WAIT seconds (60).
"""

#: Seconds that a run of a benchmark may take at most.
_LONGEST = 86400.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Run OSU's MPI benchmarks with bound ranks, in every placement on this node, and print their figures."
    )
    parser.epilog = _EPILOG
    parser.add_argument("case", nargs="*", metavar="CASE", help="the cases to run (default: all of this node)")
    parser.add_argument("--cases", metavar="FILE", help="read more cases from this file, one per line")
    parser.add_argument(
        "--benchmark", action="append", default=[], metavar="NAME", help=f"run only this one of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument(
        "--ranks", type=positive, metavar="N", help="ranks for benchmarks of more than two (default: as cores allow)"
    )
    parser.add_argument(
        "--runs", type=positive, default=3, metavar="N", help="runs of each benchmark (default: 3, or two that agree)"
    )
    parser.add_argument("--iterations", type=positive, metavar="N", help="iterations per size (default: OSU's)")
    parser.add_argument(
        "--budget", type=float, default=3.0, metavar="S",
        help="seconds that one run should take; nearfar reduces OSU's iterations to fit (default: 3; 0: keep them)",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=float, default=120.0, metavar="S", help="seconds after which a run is stopped (default: 120)"
    )
    parser.add_argument("--hosts", metavar="A,B", help="measure between these two nodes (default: the job's)")
    parser.add_argument("--device-buffers", action="store_true", help="fail if GPU buffers cannot be measured")
    parser.add_argument("--list", action="store_true", help="print the cases and measure nothing")
    parser.add_argument("--json", action="store_true", help="print the measurement document")


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    for option, value in (("--limit", args.limit), ("--budget", args.budget)):
        refuse_outside(option, value, 0.1, _LONGEST, "seconds")
    for option, value, most in (
        ("--ranks", args.ranks, 1e5),
        ("--runs", args.runs, 1e4),
        ("--iterations", args.iterations, 1e9),
    ):
        refuse_outside(option, value, 1, most, option.removeprefix("--"))
    nodes = tuple(args.hosts.split(",")) if args.hosts else hosts.of_job()
    node = inventory.observe()
    asked = [parse(text) for text in args.case] + (_read(args.cases) if args.cases else [])
    if not asked and not args.cases:
        asked = cases(node, nodes=len(nodes), benchmarks=args.benchmark, ranks=args.ranks)
    if args.list:
        print("\n".join(map(str, asked)))
        return EXIT_GOOD
    options = Options(args.runs, args.limit, args.budget, args.iterations, args.device_buffers, nodes)
    try:
        with node_lock.held(node_lock.wait(), trusted=drain_policy.measuring_users()):
            measured = measure(node, asked, options, ["nearfar", *sys.argv[1:]])
    except Interrupted as broken:
        _show(broken.document, args.json)
        raise
    _show(measured, args.json)
    return _exit_code(measured)


def _show(document: dict[str, Any], as_json: bool) -> None:
    text = dump(document)
    sys.stdout.write(text if as_json else _table(text))
    sys.stdout.flush()


def _read(path: str) -> list[MpiCase]:
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    cases = []
    for number, line in enumerate(lines, 1):
        try:
            cases += [parse(line.strip())] if line.strip() else []
        except NearfarError as error:
            raise NearfarError(f"{path}:{number}: {error}") from None
    if not cases:
        raise NearfarError(f"{path}: no case in it; nearfar osu --list prints those of this node")
    return cases


def _exit_code(document: dict[str, Any]) -> int:
    if document["failed"]:
        return EXIT_FAILED
    unexpected = any(skip["code"] not in EXPECTED_SKIPS for skip in document["skipped"])
    return EXIT_COULD_NOT_JUDGE if unexpected else EXIT_GOOD


def _table(text: str) -> str:
    document = loads(text)
    metrics = figures(document)
    mpi, version = document.raw["node"].get("software", {}).get("mpi"), document.raw["program"]["version"]
    lines = [f"{mpi or installed.on_path() or 'no MPI'}, OSU {version or 'was not run'}"]
    lines += columns([(metric.name, f"{metric.value:.3f}", metric.unit) for metric in metrics], right=[1])
    lines += [f"{finding.subject}: {finding.reason}" for finding in disturbances.findings(document)]
    lines += _reasons("failed", document.failed) + _reasons("skipped", document.skipped)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _reasons(word: str, entries: Sequence[Any]) -> list[str]:
    """One line for each reason, however many cases share it."""
    cases = grouped((entry.reason, entry.cell) for entry in entries)
    return [f"{word}: {listed(names)}: {reason}" for reason, names in cases.items()]
