"""``nearfar validate``: run the checks on this machine, judge it, write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nearfar import cli
from nearfar.base import CouldNotJudge, NearfarError, node_lock
from nearfar.prometheus import run_metrics
from nearfar.run import validation
from nearfar.site import environments

from . import metrics_option
from .command_line import print_json, refuse_outside

_EPILOG = """examples:
  nearfar validate                                measure and judge this machine
  nearfar validate --check host_device_check      one check
  nearfar validate --check burn_check             all GPUs at full load for a minute, every result checked
  nearfar validate --quick                        each path once, in seconds
  nearfar validate --system keeneland             a published system, modelled
  nearfar validate --system summit --degrade g2.d2h=0.5    a modelled node with a fault, to see the page
  nearfar validate --with spack                   build programs, OSU and MPI from the checkout's spack.yaml
  nearfar validate --list                         list the cases without running them

exit codes: 0 good or degraded, 1 the node failed (with --acceptance: or is degraded), 2 wrong use, 3 it could not be judged,
130 interrupted

docs/glossary.md, and the end of each page, explain the words used.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Run the checks with ReFrame, judge every figure and write reports/latest/index.html."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--system", metavar="NAME", help="a file of site/systems/ (default: the one that lists this host)"
    )
    parser.add_argument(
        "--force-system", action="store_true",
        help="measure this host even if its name, product or CPU does not match the system",
    )  # fmt: skip
    parser.add_argument("--check", metavar="NAME", nargs="+", default=[], action="extend", help="run only these checks")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure each path once, in seconds, instead of running the checks",
    )
    parser.add_argument(
        "--with", dest="way", choices=environments.WAYS, metavar="spack|system",
        help="build the programs with Spack, or with CMake and the system's compilers (default: as the "
        "system file's environments say)",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)  # nothing asks
    parser.add_argument(
        "--acceptance",
        action="store_true",
        help="judge strictly, to accept this node: a figure without a reference or an unreviewed topology is INDETERMINATE, and DEGRADED "
        "gives exit code 1; also runs the burn-in (burn_check), one minute at full load on all GPUs",
    )
    parser.add_argument(
        "--accept-degraded",
        action="store_true",
        help="with --acceptance: DEGRADED gives exit code 0; the page lists the figures",
    )
    parser.add_argument(
        "--report-dir", metavar="DIR", type=Path, help="the run directory (default: reports/SYSTEM/TIME)"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print report.json instead of the summary; if nothing could be measured, "
        "an object with the reason (nearfar-not-run/1)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show all figures, and ReFrame's output")
    parser.add_argument(
        "--build-only", action="store_true", help="let Spack build what the checks need, without measuring"
    )
    parser.add_argument(
        "--wait", metavar="SECONDS", type=float,
        help="how long to wait while another run measures on this node (default: NEARFAR_WAIT, else 60); then exit code 3",
    )  # fmt: skip
    metrics_option.add(parser)
    parser.add_argument(
        "--degrade", metavar="PART=FACTOR", action="append", default=[],
        help="simulate a fault on modelled nodes, to see the page: PART is g2.link, g2.h2d, n0.memory, p0-p1 …; may be repeated",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the cases that would run, without running them")


def run(args: argparse.Namespace) -> int:
    """Run, then show the summary."""
    refuse_outside("--wait", args.wait, 0, node_lock.LONGEST, "seconds")
    if args.accept_degraded and not args.acceptance:
        raise NearfarError("--accept-degraded: only with --acceptance; add that, or leave --accept-degraded out")
    request = validation.Request(
        system=args.system, checks=tuple(args.check), report_directory=args.report_dir, acceptance=args.acceptance,
        accept_degraded=args.accept_degraded, verbose=args.verbose, quick=args.quick, way=args.way, wait=args.wait,
        degrade=tuple(args.degrade), force_system=args.force_system,
        command=("nearfar", *sys.argv[1:]),
    )  # fmt: skip
    if args.list:
        system, cases = validation.plan(request)
        for case in cases:
            print(f"{case.name}{' (modelled)' if case.modelled else ''}{': ' + case.problem if case.problem else ''}")
        for entry in validation.unasked(request, system):
            message = f"{entry['check']} will not run: {entry['reason']}; {entry['remedy']}"
            print(f"nearfar: {cli.pasteable(message)}", file=sys.stderr)
        return 0
    if args.build_only:
        for folder in validation.build(request):
            print(folder)
        return 0
    try:
        code, folder = validation.run(request)
    except CouldNotJudge as error:
        if args.json:
            print_json(_not_run(error))
        raise
    metrics_option.write(args, lambda to: run_metrics.write(folder, to))
    print(
        (folder / "report.json").read_text(encoding="utf-8")
        if args.json
        else cli.pasteable(validation.headline(folder, args.verbose))
    )
    return code


def _not_run(error: CouldNotJudge) -> dict[str, object]:
    """``nearfar-not-run/1``: why there is no report."""
    return {
        "schema": "nearfar-not-run/1", "verdict": "INDETERMINATE", "exit_code": error.exit_code, "reason": cli.pasteable(str(error)),
    }  # fmt: skip
