"""``nearfar reproduce``: what a paper published, the model's answer and this site's, row by row."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearfar import reproduce
from nearfar.base import EXIT_GOOD, NearfarError, node_lock, site_directories, write_atomically
from nearfar.collective import published_collectives
from nearfar.model import published_nodes
from nearfar.report.blocks import Shown, shown_lines, shown_page
from nearfar.reproduce import Paper, ThisSite, load_paper, papers
from nearfar.run import some_checks
from nearfar.verdict import NodeRun, run_directory

from .command_line import print_json, refuse_outside, run_directories

_EPILOG = """examples:
  nearfar reproduce --list                        list the papers, and how much of each nearfar can measure
  nearfar reproduce --nodes                       published figures of real nodes beside the model, with its errors
  nearfar reproduce --collectives                 published nccl-tests figures beside the predicted bus bandwidth
  nearfar reproduce joubert2019                   every row: published, modelled, and the check that measures it
  nearfar reproduce joubert2019 --run latest      with your figures from a run
  nearfar reproduce joubert2019 --measure         measure your figures now; the page is in the run directory
  nearfar reproduce meredith2012 --document cost.json   with your figures from nearfar cost --json
  nearfar reproduce spafford2011 --page paper.html   one self-contained page
  nearfar reproduce spafford2011 --json           one JSON object (nearfar-reproduce/1)

exit codes: 0 shown, 2 wrong use; with --measure those of nearfar validate
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Show a paper's figures beside the model's and yours, row by row. Measures only with --measure."
    )
    parser.epilog = _EPILOG
    parser.add_argument("paper", nargs="?", metavar="PAPER", help="a file of site/published/")
    parser.add_argument("--list", action="store_true", help="list the papers, with the number of rows")
    parser.add_argument(
        "--nodes",
        action="store_true",
        help="compare figures that owners of real nodes published (site/published-nodes/) with the model",
    )
    parser.add_argument(
        "--collectives",
        action="store_true",
        help="compare published nccl-tests figures (site/published-collectives/) with the prediction",
    )
    parser.add_argument(
        "--run", dest="folder", metavar="RUN", help="take your figures from this run directory, or latest"
    )
    parser.add_argument(
        "--document", nargs="+", type=Path, default=[], metavar="FILE",
        help="what nearfar cost, nearfar osu, nearfar-copy … printed with --json, for this site's column",
    )  # fmt: skip
    parser.add_argument(
        "--measure",
        action="store_true",
        help="run the checks that the paper needs on this machine, for your figures",
    )
    parser.add_argument(
        "--system", metavar="NAME", help="with --measure: a file of site/systems/ (default: this host's)"
    )
    parser.add_argument("--report-dir", metavar="DIR", type=Path, help="with --measure: where the run goes")
    parser.add_argument(
        "--wait", metavar="SECONDS", type=float, help="with --measure: how long to wait for another run on this node"
    )
    parser.add_argument("--page", type=Path, metavar="FILE.html", help="write one self-contained page")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print a paper, or the list of them."""
    _refuse(args)
    if args.list:
        known = papers(site_directories())
        if args.json:
            print_json(reproduce.listing.listing(known))
        else:
            print("\n".join(reproduce.listing.list_lines(known)))
        return EXIT_GOOD
    if args.nodes:
        return _captured(args, "--nodes", reproduce.library, published_nodes.published_nodes(site_directories()))
    if args.collectives:
        return _captured(args, "--collectives", reproduce.collectives, published_collectives(site_directories()))
    paper = load_paper(args.paper, site_directories())
    code, folder = (
        _measure(args, paper) if args.measure else (EXIT_GOOD, None if args.folder is None else _folder(args.folder))
    )
    printed = [reproduce.documents.load(path) for path in args.document]
    site = ThisSite(None if folder is None else _measured(folder), printed) if folder is not None or printed else None
    rows = reproduce.beside(paper, site_directories(), site)
    page = args.page or (folder / f"reproduce-{paper.name}.html" if args.measure and folder is not None else None)
    ran = [] if folder is None else ["--run", str(folder)]
    ran += ["--document", *map(str, args.document)] if args.document else []
    again = ["nearfar", "reproduce", paper.name, *ran, *([] if page is None else ["--page", str(page)])]
    found = reproduce.shown(paper, rows, site, site_directories(), shlex.join(again))
    _show(found, page, reproduce.document.as_json(paper, rows, site) if args.json else None)
    if page is not None and not args.json:
        print(f"\n{page}")
    return code


def _captured(args: argparse.Namespace, option: str, module: Any, captured: Sequence[Any]) -> int:
    """Print a library of captures beside the model: ``module`` shows it."""
    command = ["nearfar", "reproduce", option, *([] if args.page is None else ["--page", str(args.page)])]
    _show(module.shown(captured, shlex.join(command)), args.page, module.as_json(captured) if args.json else None)
    return EXIT_GOOD


def _show(found: Shown, page: Path | None, document: object | None) -> None:
    """Write the page, if one is asked for, and print ``document``, or without one the text."""
    if page is not None:
        text = shown_page(found, "reproduce.css")
        write_atomically(page, text.encode("utf-8", "replace"), "name another file with --page")
    if document is None:
        print("\n".join(shown_lines(found)))
    else:
        print_json(document)


def _refuse(args: argparse.Namespace) -> None:
    """Raise for arguments that do not go together."""
    if args.list + args.nodes + args.collectives + bool(args.paper) != 1:
        raise NearfarError("name one paper, or --list them all, or --nodes or --collectives for captures of real nodes")
    if args.folder is not None and args.measure:
        raise NearfarError("--run takes a run that is there, --measure makes one: name one of the two")
    given = {
        "--run": args.folder,
        "--document": args.document,
        "--measure": args.measure,
        **({"--page": args.page} if args.list else {}),
    }
    shown = "--list" if args.list else "--nodes" if args.nodes else "--collectives"
    for option in (option for option, value in given.items() if value and not args.paper):
        raise NearfarError(f"{option} goes with a paper: {shown} measures and shows nothing of it")
    for option in ("system", "report_dir", "wait"):
        if getattr(args, option) is not None and not args.measure:
            raise NearfarError(f"--{option.replace('_', '-')} goes with --measure")
    refuse_outside("--wait", args.wait, 0, node_lock.LONGEST, "seconds")


def _measure(args: argparse.Namespace, paper: Paper) -> tuple[int, Path]:
    """Run what the paper's rows need of this machine; the run's exit code and its directory."""
    wanted = dict.fromkeys(check for row in paper.rows if row.command for check in row.checks)
    return some_checks.run(list(wanted), args.system, args.report_dir, args.wait, ("nearfar", *sys.argv[1:]))


def _folder(word: str) -> Path:
    folders = run_directories(word)
    if len(folders) > 1:
        raise NearfarError(f"--run {word}: {len(folders)} runs have such a name; name one, {folders[-1]} is the last")
    return folders[0]


def _measured(folder: Path) -> NodeRun:
    """The measured node of a run."""
    measured = [node for node in run_directory.read(folder).nodes if not node.modelled]
    if not measured:
        raise NearfarError(f"{folder}: nothing was measured in this run; name the run of a real node")
    if len(measured) > 1:
        names = ", ".join(node.name for node in measured[:3]) + (" …" if len(measured) > 3 else "")
        raise NearfarError(f"{folder}: has {len(measured)} nodes ({names}); name the run of one")
    return measured[0]
