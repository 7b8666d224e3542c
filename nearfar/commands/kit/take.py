"""``nearfar import``: judge what a kit, or another tool, measured on another machine, and make its page."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from nearfar import cli, foreign, report
from nearfar.base import NearfarError
from nearfar.kit import import_file, result_file

_EPILOG = """examples:
  nearfar import nearfar-node17-20261123T090000.tar.gz
  nearfar import FILE --system mycluster           judge by the references of site/systems/mycluster.yaml
  nearfar import FILE --name rack3-7               name the node of an anonymous file
  nearfar import nvbandwidth.txt topo.txt          another tool's output, with nvidia-smi topo -m of the same node
  nearfar import nvbandwidth.json --node summit    the same, for a node like site/nodes/summit.yaml

exit codes: 0 good or degraded, 1 the node failed, 2 wrong use, 3 it could not be judged, or the file is damaged or was edited
"""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
#: What a kit's archive begins with.
_GZIP = b"\x1f\x8b"


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Judge measurements from elsewhere, and write a page: a kit's file, which also enters the history, or output of other "
        f"tools, which does not. Reads {foreign.can_be_imported()}."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="a kit's file, or files of other tools; each node in them gets its own page",
    )
    parser.add_argument(
        "--system",
        metavar="NAME",
        help="for a kit's file: a file of site/systems/ (default: the one that lists the node, else a system called 'imported')",
    )
    parser.add_argument("--name", metavar="NAME", help="name for the node (default: its own)")
    parser.add_argument("--node", metavar="TYPE", help="for other tools' files: the node type, a file of site/nodes/")
    parser.add_argument(
        "--numa",
        metavar="N",
        type=int,
        help="for bandwidthTest: the NUMA node that it ran on (default: from its command line)",
    )
    parser.add_argument(
        "--nics",
        metavar="NxGBITS",
        help="for nccl-tests between nodes: NICs per node and Gbit/s of each, e.g. 8x400 (default: from the topology)",
    )
    parser.add_argument("--json", action="store_true", help="print report.json instead of the summary")


def run(args: argparse.Namespace) -> int:
    """Import, then show the summary."""
    if args.name is not None and not _NAME.fullmatch(args.name):
        raise NearfarError(f"--name {args.name}: a name has letters, digits, '.', '_' and '-'; choose another")
    if any(_is_kit_s(file) for file in args.files):
        if len(args.files) > 1:
            raise NearfarError(
                f"{args.files[1]}: a kit's file is imported by itself; import the other files afterwards"
            )
        if args.node is not None or args.numa is not None or args.nics is not None:
            raise NearfarError(f"{args.files[0]}: a kit's file describes its node; leave out --node, --numa and --nics")
        done = import_file(result_file.read(args.files[0]), args.system, args.name)
        _show(done.folder, args.json)
        return done.exit_code
    if args.system is not None:
        raise NearfarError(
            "--system: a site's references were measured with nearfar and judge no other tool's figures; leave it out "
            "(--node TYPE names the kind of node)"
        )
    codes: list[int] = []
    for made in foreign.import_outputs(args.files, args.node, args.name, args.numa, args.nics):
        if made.of_several and not args.json:
            print(f"{made.node}:")
        _show(made.folder, args.json)
        codes.append(made.exit_code)
    return 1 if 1 in codes else max(codes)


def _show(folder: Path, as_json: bool) -> None:
    print((folder / "report.json").read_text(encoding="utf-8") if as_json else cli.pasteable(report.summary(folder)))


def _is_kit_s(file: Path) -> bool:
    if file.name.endswith((".tar.gz", ".tgz")):
        return True
    try:
        if not file.is_file():  # a FIFO has no end
            return False
        with file.open("rb") as stream:
            return stream.read(2) == _GZIP
    except OSError:
        return False
