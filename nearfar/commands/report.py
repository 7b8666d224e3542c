"""``nearfar report``: the pages of runs, made again from their files."""

from __future__ import annotations

import argparse
import glob
from pathlib import Path

from nearfar import report
from nearfar.base import NearfarError, files
from nearfar.run import run_file

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
    """Build each page; one that cannot be built stops the command with the file that is at fault."""
    for folder in [folder for word in args.runs for folder in _run_directories(word)]:
        run_file.adopt(folder)
        page = report.build(folder)
        print(report.summary(folder) if args.summary else page)
    return 0


def _run_directories(word: str) -> list[Path]:
    """The run directories that ``word`` names, oldest first; a name is looked for here and then below reports/."""
    reports = files.reports_directory()
    if word == "latest":
        latest = reports / "latest"
        if not latest.exists():
            raise NearfarError(f"{latest}: there is no run yet; ./validate makes one")
        return [latest.resolve()]
    found = sorted(Path(path) for path in glob.glob(str(Path(word).expanduser()))) or sorted(
        reports.glob(word.lstrip("/"))
    )
    runs = [path for path in found if path.is_dir()]
    if len(found) > 1:
        # A pattern may catch files and folders beside the runs; a single name is taken at its word.
        runs = [path for path in runs if any((path / name).exists() for name in ("run.json", "reframe-report.json"))]
    if not runs:
        raise NearfarError(f"{word}: no run directory of that name here or in {reports}")
    return runs
