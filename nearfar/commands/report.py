"""``nearfar report``: the pages of runs, made again from their files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nearfar import cli, report
from nearfar.base import EXIT_GOOD, NearfarError, write_atomically
from nearfar.report import batch
from nearfar.report.blocks import shown_pdf
from nearfar.run import run_file
from nearfar.verdict import run_directory

from .command_line import run_directories

_EPILOG = """examples:
  nearfar report latest
  nearfar report reports/redwood/20261120T090000
  nearfar report 'reports/redwood/*'
  NEARFAR_SITE=/etc/nearfar nearfar report latest      # with the site's own templates/
  nearfar report latest --dossier gpu038.pdf           # a PDF for a vendor's ticket: what failed, on which boards
  nearfar report --together gathered                   # hosts.json, nodes/HOST/: what the Ansible role validate gathers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Write index.html, report.json and junit.xml of runs again, from their measurements and verdicts. "
        "Measures and judges nothing. Prints the path of each page."
    )
    parser.epilog = _EPILOG
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a run directory, a pattern for several, or 'latest'")
    parser.add_argument("--together", metavar="DIR", type=Path,
                        help="write one page for many hosts: DIR/hosts.json lists them, DIR/nodes/HOST has the run of each")  # fmt: skip
    parser.add_argument("--summary", action="store_true", help="print the run's summary instead of the page's path")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="with --summary: show all figures, not only those that did not pass",
    )

    parser.add_argument(
        "--dossier",
        metavar="FILE.pdf",
        type=Path,
        help="write one run as a PDF for a vendor's ticket, instead of its page",
    )


def run(args: argparse.Namespace) -> int:
    """Build each page. Of one that cannot be built the file at fault is told, the others are built, and the exit code is that of the
    worst."""
    if (args.together is None) == (not args.runs):
        raise NearfarError("name runs, or --together DIR; nearfar report --help has examples")
    if args.together is not None:
        gathered = batch.gather(args.together.absolute())
        print(gathered.summary() if args.summary else gathered.page)
        return EXIT_GOOD
    if args.dossier is not None:
        return _dossier(args)
    code = EXIT_GOOD
    for word in args.runs:
        try:
            folders = run_directories(word)
        except NearfarError as error:
            folders, code = [], _told(error, code)
        for folder in folders:
            try:
                run_file.adopt(folder)
                page = report.build(folder)
                print(cli.pasteable(report.summary(folder, every=args.verbose)) if args.summary else page)
            except NearfarError as error:
                code = _told(error, code)
    return code


def _dossier(args: argparse.Namespace) -> int:
    folders = [folder for word in args.runs for folder in run_directories(word)]
    if len(folders) != 1:
        raise NearfarError(f"--dossier: {len(folders)} runs are named; name one")
    run_file.adopt(folders[0])
    found = run_directory.read(folders[0])
    if all(node.modelled for node in found.nodes):
        raise NearfarError(f"--dossier: nothing was measured in {folders[0]}")
    write_atomically(args.dossier, shown_pdf(report.dossier(found)), "name another file with --dossier")
    print(args.dossier)
    return EXIT_GOOD


def _told(error: NearfarError, code: int) -> int:
    print(f"nearfar: {cli.pasteable(str(error))}", file=sys.stderr)
    return max(code, error.exit_code)
