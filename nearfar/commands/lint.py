"""``nearfar lint``: a site's files against their schemas, the checks, the hardware's limits and each other."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import EXIT_GOOD, EXIT_WRONG_USE, NearfarError, SiteFileError, site_directories, site_files
from nearfar.reproduce import papers
from nearfar.site import lint

from .command_line import print_json

_EPILOG = """examples:
  nearfar lint                             the directories of NEARFAR_SITE, and the checkout's site/
  nearfar lint /our/site                   another site directory
  nearfar lint site/references/mine.yaml   one file
  nearfar lint --strict --json             for CI
  nearfar lint --import nd96isr_h100_v5.conf --gpu H100       find thresholds that no healthy node reaches, or that a faulty one passes

exit codes: 0 no problems, or only warnings; 2 errors (with --strict: or warnings)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Check your site files for mistakes. Prints each as FILE:LINE: LEVEL: MESSAGE; measures nothing."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", type=Path, help="site directories, or files in them (default: all)"
    )
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--import", dest="thresholds", metavar="FILE", type=Path,
        help="instead of site files, compare thresholds of Azure's node health checks or DCGM's SKUs with what healthy GPUs reach",
    )  # fmt: skip
    parser.add_argument("--gpu", metavar="MODEL", help="with --import: the GPU model, if the file does not name it")


def run(args: argparse.Namespace) -> int:
    """Look, tell, and say by the exit code whether there are errors."""
    if args.thresholds is not None:
        from nearfar import foreign

        lines, wrong = foreign.thresholds.lines(args.thresholds, args.gpu, site_directories())
        print("\n".join(lines))
        return EXIT_WRONG_USE if wrong else EXIT_GOOD
    directories, wanted = chosen(args.paths)
    looked = _with_papers(lint.lint(directories), directories)
    for path in wanted:
        inside = looked.within([path])
        if not inside.files and not inside.complaints:
            raise NearfarError(
                f"{path}: no site file; these are in systems/, nodes/, references/, gpus/, orders/, published/ and templates/"
            )
    looked = looked.within(wanted) if wanted else looked
    complaints = lint.sorted_once(lint.strict(looked.complaints) if args.strict else looked.complaints)
    if args.json:
        entries = [complaint.entry() for complaint in complaints]
        document = {"schema": "nearfar-lint/1", "files": len(looked.files), "complaints": entries}
        print_json(document)
    else:
        for complaint in complaints:
            print(replace(complaint, file=_near(complaint.file)))
        print(lint.summary(complaints, len(looked.files)))
    return EXIT_WRONG_USE if any(complaint.level == lint.ERROR for complaint in complaints) else EXIT_GOOD


def _with_papers(looked: lint.LintResult, directories: Sequence[Path]) -> lint.LintResult:
    """With what is wrong with the files of papers, the first of it: they are read together."""
    complaints = list(looked.complaints)
    try:
        papers(directories)
    except SiteFileError as error:
        complaints.append(lint.refused(error, "schema"))
    files = (*looked.files, *site_files("published", list(directories)).values())
    return lint.LintResult(tuple(complaints), files)


def chosen(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The site directories to look through, and what is asked about (empty: everything). A directory that is named comes
    first, and so does the one that holds a file that is named."""
    directories = site_directories()
    wanted = []
    for path in reversed([path.absolute() for path in paths]):
        if not path.exists():
            raise NearfarError(f"{path}: no such file or directory")
        home = path if path.is_dir() else path.parent.parent
        if not any(home == directory or directory in home.parents for directory in directories):
            directories.insert(0, home)
        wanted.append(path)
    return directories, wanted


def _near(path: Path) -> Path:
    """A file as it is called from here."""
    here = Path.cwd()
    return path.relative_to(here) if here in path.parents else path
