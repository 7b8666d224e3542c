"""``nearfar report``: the pages of runs, made again from their files."""

from __future__ import annotations

import argparse
import sys

from nearfar import report
from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.run import run_file

from .run_names import run_directories

_EPILOG = """examples:
  nearfar report latest
  nearfar report reports/redwood/20261120T090000
  nearfar report 'reports/redwood/*'
  NEARFAR_SITE=/etc/nearfar nearfar report latest      # with the site's own templates/
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Make index.html, report.json and junit.xml of runs again, from what they measured and how it was judged then. "
        "Nothing is measured or judged. Prints the path of each page."
    )
    parser.epilog = _EPILOG
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run directory, a pattern of several, or 'latest'")
    parser.add_argument("--summary", action="store_true", help="print the ten lines of the terminal's summary too")


def run(args: argparse.Namespace) -> int:
    """Build each page. Of one that cannot be built the file at fault is told, the others are built, and the exit code is that of the
    worst."""
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
                print(report.summary(folder) if args.summary else page)
            except NearfarError as error:
                code = _told(error, code)
    return code


def _told(error: NearfarError, code: int) -> int:
    print(f"nearfar: {error}", file=sys.stderr)
    return max(code, error.exit_code)
