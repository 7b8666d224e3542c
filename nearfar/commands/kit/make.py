"""``nearfar kit``: an archive that measures a node where nothing can be installed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from nearfar.base import NearfarError, places
from nearfar.kit import offline_pack, pack

_EPILOG = """examples:
  nearfar kit --output kit.tar.gz                 use the programs built here, for systems as new as this one
  setup/build_in_debian11 /scratch/kit            for older systems: build in a chroot, then pack that build
  nearfar kit --output kit.tar.gz --programs /scratch/kit/programs
  nearfar kit --with-pack --output pack.tar.gz    nearfar itself, for ./validate --offline and Ansible

On the node: tar -xzf FILE && ./kit/run, which writes one result file. Here: nearfar import RESULT-FILE. More: docs/deploy.md

exit codes: 0 written, 2 wrong use or something is missing
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Make an archive that measures nodes without network, root, compiler or Python."
    parser.epilog = _EPILOG
    parser.add_argument("--output", metavar="FILE", type=Path, required=True, help="the archive to write")
    parser.add_argument(
        "--programs", metavar="DIR", type=Path, help="directory of nearfar-copy, with lstopo and libraries as "
        "setup/build_in_debian11 writes them (default: build/bin)",
    )  # fmt: skip
    parser.add_argument(
        "--with-pack", action="store_true", help="make another archive: nearfar's sources, and wheels for Python "
        f"{', '.join(offline_pack.PYTHONS)}, to set nearfar up without a network (./validate --offline)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print file and size as JSON")


def run(args: argparse.Namespace) -> int:
    """Write it."""
    if not args.output.absolute().parent.is_dir():
        raise NearfarError(f"--output {args.output}: there is no directory {args.output.parent}; make it first")
    if args.with_pack:
        if args.programs is not None:
            raise NearfarError("--programs is for a kit; --with-pack holds sources")
        file = offline_pack.write(args.output)
        made = {"file": str(file), "size": file.stat().st_size}
        print(json.dumps(made) if args.json else f"{file}: {file.stat().st_size / 2**20:.1f} MiB")
        return 0
    programs = args.programs or places.programs_directory()
    packed = pack(programs, args.output)
    if args.json:
        print(json.dumps({**vars(packed), "file": str(packed.file)}))
        return 0
    size = f"{packed.size / 2**20:.1f} MiB" if packed.size >= 2**20 else f"{packed.size / 2**10:.0f} KiB"
    print(f"{packed.file}: {size}, {packed.architecture}, glibc {packed.glibc} or newer")
    if packed.cuda:
        print(f"CUDA {packed.cuda}: NVIDIA driver {packed.driver} or newer")
    else:
        print("nearfar: its nearfar-copy measures no GPU: it was built without CUDA", file=sys.stderr)
    return 0
