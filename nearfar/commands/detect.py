"""``nearfar detect``: what this node is; a first site file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from nearfar.base import NearfarError, own_site_directory
from nearfar.run import not_asked
from nearfar.site import write_first_site_files
from nearfar.topology import as_stored, draw, inventory, node_to_document

_EPILOG = """examples:
  nearfar detect
  nearfar detect --json > node.json
  lstopo --of xml --whole-io --disallowed other.xml      on another node; then here:
  nearfar detect --xml other.xml
  nearfar detect --site mycluster                        write a first system file and node type, to review

GPUs are numbered in PCI bus order over all GPUs of the node, regardless of CUDA_VISIBLE_DEVICES. HWLOC_XMLFILE works as
in every hwloc tool.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Show this node: packages, NUMA nodes, GPUs, NICs, and the class of every path between them."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--xml", metavar="FILE", help="show a node's stored hwloc XML (format 2 or 3) instead; '-': standard input"
    )
    parser.add_argument("--json", action="store_true", help="print the node as JSON, as in a measurement document")
    parser.add_argument("--site", metavar="NAME", help="write the first site files of a system called NAME")
    parser.add_argument(
        "--site-dir",
        metavar="DIR",
        type=Path,
        help="where to write them (default: the first directory of NEARFAR_SITE, else the checkout's site/)",
    )


def run(args: argparse.Namespace) -> int:
    """Show the node, or write its site files."""
    stored = None if args.xml is None else _read(args.xml)
    try:
        xml = inventory.lstopo_xml() if stored is None else stored
        node = inventory.observe() if stored is None else as_stored(inventory.observe(stored), stored, args.xml)
    except NearfarError as error:
        if args.xml is None:
            raise
        raise type(error)(f"{args.xml}: {error}") from None
    if args.site is None:
        if args.site_dir is not None:
            raise NearfarError("--site-dir goes with --site NAME; name the system")
        print(json.dumps(node_to_document(node), indent=2, ensure_ascii=False) if args.json else draw(node))
        return 0
    written = write_first_site_files(args.site, node, xml, args.site_dir or own_site_directory())
    if args.json:
        print(json.dumps(node_to_document(node), indent=2, ensure_ascii=False))
    print("\n".join(f"wrote {path}" for path in written), file=sys.stderr)
    for line in not_asked.brought(args.site, "default", ["gpu"] if node.gpus else []):
        print(line, file=sys.stderr)
    print("review them, then remove 'unreviewed: true' from each", file=sys.stderr)
    return 0


def _read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise NearfarError(
            f"{name}: not UTF-8 text; write it with: lstopo --of xml --whole-io --disallowed {name}"
        ) from None
    except OSError as error:
        raise NearfarError(f"{name}: cannot be read: {error.strerror}") from None
