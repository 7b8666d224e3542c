"""``nearfar spack``: the pack's Spack environment: what it would install, the system's own packages, installing, a mirror."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from nearfar.base import EXIT_GOOD, make_directory
from nearfar.run import spack
from nearfar.run.spack import agreement, detected, externals, mirror, say

_EPILOG = """\
examples:
  nearfar spack externals --into site/systems/mycluster     first: what this system has, as packages.yaml
  nearfar spack plan --system mycluster                     what would be built, what is the system's
  nearfar spack install --system mycluster --cuda-arch 90
  nearfar spack install --no-cuda                           for nodes without GPUs
  nearfar spack mirror /media/nearfar-mirror                on a host with a network; then, on one without:
  nearfar spack install --mirror /media/nearfar-mirror

CUDA is part of every plan unless --no-cuda leaves it out: nothing is left out because this machine happens to have no GPU.
Spack is that of SPACK_ROOT or of the PATH (1.0 or newer). Nothing is written into the checkout's files or ~/.spack: environments go to
build/spack/ (NEARFAR_STATE moves it), packages to build/spack/tree (NEARFAR_SPACK_TREE moves it). docs/guide/spack.md has the rest.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    parser.description = "Get the pack's programs, OSU, MPI, CUDA and hwloc through Spack."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    actions = parser.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    plan = _action(actions, "plan", "what Spack would install: versions, hashes, what is the system's")
    install = _action(actions, "install", "install it; at once where nothing changed")
    copy = _action(actions, "mirror", "fetch the sources of all that would be built into a folder")
    found = _action(actions, "externals", "write what the system has as a packages.yaml")
    for action in (plan, install, copy):
        _environment(action)
    for action in (plan, install, found):
        action.add_argument("--json", action="store_true", help="the answer as JSON")
    install.add_argument("--yes", action="store_true", help="do not ask, however much there is to build")
    install.add_argument("--print", action="store_true", dest="quiet", help="print only the folder of the programs")
    copy.add_argument("directory", metavar="DIR", type=Path, help="the mirror: made, or completed")
    found.add_argument("--into", metavar="DIR", type=Path, required=True, help="a folder such as site/systems/NAME")
    found.add_argument("--mpi", metavar="NAME", default="openmpi", help="Spack's name of the MPI (default: openmpi)")
    found.add_argument("--cuda-arch", metavar="LIST", help="also what packages with CUDA are built for, such as 90")
    found.add_argument("--replace", action="store_true", help="write anew a packages.yaml that is there")


def _action(actions: Any, name: str, does: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = actions.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
    return made


def _environment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-cuda", action="store_false", dest="cuda", help="the environment without CUDA: spack/host/"
    )
    parser.add_argument("--cuda-arch", metavar="LIST", help="compute capabilities such as 90 or 80,90")
    parser.add_argument("--system", metavar="NAME", help="with the Spack configuration in site/systems/NAME/")
    parser.add_argument(
        "--mirror", metavar="DIR", default=os.environ.get("NEARFAR_SPACK_MIRROR") or None,
        help="a source mirror to fetch from: a folder or a URL (default: NEARFAR_SPACK_MIRROR)",
    )  # fmt: skip
    parser.add_argument("--tree", metavar="DIR", type=Path, help="where packages go (default: build/spack/tree)")
    parser.add_argument("--again", action="store_true", help="solve again though nothing changed")


def run(args: argparse.Namespace) -> int:
    """Do one of the actions."""
    found = spack.find()
    if args.action == "externals":
        return _externals(found, args)
    site = _site(found, args.system)
    wanted: dict[str, Any] = {"site": site, "mirror": args.mirror, "tree": args.tree, "again": args.again}
    if args.action == "install":
        installed = spack.ensure(found, args.cuda, args.cuda_arch, agree=agreement.agreement(args.yes), **wanted)
        return _show_installed(found, installed, args)
    if args.action == "mirror":
        make_directory(args.directory, "name a directory")
    plan = spack.plan(found, args.cuda, args.cuda_arch, **wanted)
    if args.action == "mirror":
        archives = mirror.create(found, plan, args.directory.absolute())
        print(
            f"{args.directory}: {len(archives)} sources; where there is no network: nearfar spack install --mirror DIR"
        )
        return EXIT_GOOD
    return _show_plan(found, plan, args)


def _site(found: spack.Spack, system: str | None) -> Path:
    """As ``./validate --with spack`` chooses, so that what is installed here is what it finds there."""
    if system is not None:
        return spack.folder_of(system)
    return spack.site_of() or detected.folder(found, say)


def _show_plan(found: spack.Spack, plan: spack.InstallPlan, args: argparse.Namespace) -> int:
    doubts = agreement.doubts(plan)
    if args.json:
        content = {"spack": found.version, "cuda": args.cuda, "doubts": doubts, "packages": _packages(plan.packages)}
        print(json.dumps(content, indent=1))
        return EXIT_GOOD
    print(f"Spack {found.version}, {'with' if args.cuda else 'without'} CUDA: {agreement.count(plan)}")
    print(agreement.describe(plan), end="")
    for words in doubts:
        print(f"WARNING: {words}")
    return EXIT_GOOD


def _show_installed(found: spack.Spack, installed: spack.Installed, args: argparse.Namespace) -> int:
    if args.json:
        content = {"spack": found.version, "view": str(installed.view), "packages": _packages(installed.packages)}
        print(json.dumps(content, indent=1))
    elif args.quiet:
        print(installed.programs)
    else:
        print(agreement.describe(spack.InstallPlan(installed.view, installed.packages)), end="")
        print(f"{'unchanged' if installed.kept else 'installed'}: {installed.view}")
    return EXIT_GOOD


def _packages(packages: list[spack.SpackPackage]) -> list[dict[str, Any]]:
    return [
        {
            "name": package.name,
            "version": package.version,
            "hash": package.hash,
            "external": None if package.external_prefix is None else str(package.external_prefix),
            "there": package.there,
        }
        for package in packages
    ]


def _externals(found: spack.Spack, args: argparse.Namespace) -> int:
    answer = externals.write(found, args.into.absolute(), say, args.mpi, args.cuda_arch, args.replace)
    if args.json:
        print(json.dumps({"file": str(answer.file), "found": answer.found, "missing": answer.missing}, indent=1))
        return EXIT_GOOD
    for name in sorted(answer.found):
        print(f"{name:12}  {'; '.join(answer.found[name])}")
    for name in answer.missing:
        print(f"nearfar: WARNING: no {name} found: Spack would build it", file=sys.stderr)
    print(f"written: {answer.file}")
    return EXIT_GOOD
