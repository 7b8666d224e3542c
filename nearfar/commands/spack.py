"""``nearfar spack``: what the system has, written down for Spack."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from nearfar.base import EXIT_GOOD
from nearfar.run import spack

_EPILOG = """\
examples:
  nearfar spack externals --into site/systems/mycluster           run once, then edit the file; ./validate --with spack reads it
  nearfar spack externals --into /etc/spack --mpi mpich           for any other use of Spack

`./validate --with spack` builds the programs, OSU and their MPI (--setup-only: without measuring); plain `spack` commands do too, see
docs/deploy.md. nearfar uses the Spack of SPACK_ROOT or PATH (1.0 or newer). It writes nothing to the checkout and no configuration to
~/.spack, where Spack itself keeps caches (SPACK_USER_CACHE_PATH moves them).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    parser.description = "Register this system's packages with Spack."
    parser.epilog = _EPILOG
    actions: Any = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    does = "list the system's packages in a packages.yaml for Spack"
    action = actions.add_parser("externals", help=does, description=f"{does[0].upper()}{does[1:]}.")
    action.add_argument(
        "--into", metavar="DIR", type=Path, required=True, help="directory for packages.yaml, such as site/systems/NAME"
    )
    action.add_argument("--mpi", metavar="NAME", default="openmpi", help="Spack's name of the MPI (default: openmpi)")
    action.add_argument(
        "--cuda-arch", metavar="LIST", help="build packages with CUDA for these architectures, such as 90"
    )
    action.add_argument("--replace", action="store_true", help="overwrite an existing packages.yaml")
    action.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    program = spack.find()
    program.need_version()
    answer = spack.externals.write(program, args.into.absolute(), args.mpi, args.cuda_arch, args.replace)
    if args.json:
        print(json.dumps({"file": str(answer.file), "found": answer.found, "missing": answer.missing}, indent=1))
        return EXIT_GOOD
    for name in sorted(answer.found):
        print(f"{name:12}  {'; '.join(answer.found[name])}")
    for name in answer.missing:
        then = "name yours in the file" if name in (args.mpi, "cuda") else "Spack would build it"
        print(f"nearfar: WARNING: no {name} found: {then}", file=sys.stderr)
    print(f"written: {answer.file}")
    return EXIT_GOOD
