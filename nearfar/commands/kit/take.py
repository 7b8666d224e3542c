"""``nearfar import``: judge what a kit measured on another machine, and make its page."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from nearfar import cli, report
from nearfar.base import NearfarError
from nearfar.kit import import_file, result_file

_EPILOG = """examples:
  nearfar import nearfar-node17-20261123T090000.tar.gz
  nearfar import FILE --system mycluster           by the references of site/systems/mycluster.yaml
  nearfar import FILE --node rack3-7               a name for the node of an anonymous file

exit codes: 0 good or degraded, 1 the node failed, 2 wrong use, 3 it could not be judged, or the file is damaged or was edited
"""
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Check the file that a kit left, judge it like a run of this machine, keep it in the history and write its page."
    parser.epilog = _EPILOG
    parser.add_argument("file", metavar="FILE", type=Path, help="what ./kit/run left")
    parser.add_argument(
        "--system",
        metavar="NAME",
        help="a file of site/systems/ (default: the one that claims the node, else 'imported', a system of its own)",
    )
    parser.add_argument("--node", metavar="NAME", help="the node's name here (default: its own)")
    parser.add_argument(
        "--json", action="store_true", help="print report.json on standard output, in place of the summary"
    )


def run(args: argparse.Namespace) -> int:
    """Import, then show the summary."""
    if args.node is not None and not _NODE.fullmatch(args.node):
        raise NearfarError(f"--node {args.node}: a name has letters, digits, '.', '_' and '-'; choose another")
    done = import_file(result_file.read(args.file), args.system, args.node)
    print(
        (done.folder / "report.json").read_text(encoding="utf-8")
        if args.json
        else cli.pasteable(report.summary(done.folder))
    )
    return done.exit_code
