"""``nearfar slurm install``: render scripts and timers for nightly sweeps, act and health checks, show the diff, copy them into place."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from nearfar.base import EXIT_GOOD, NearfarError, places, plural
from nearfar.commands import print_json, refuse_outside
from nearfar.slurm import install
from nearfar.slurm.install import FOLDER, PARTS, Installed, InstallOptions

_EPILOG = """examples:
  nearfar slurm install --partition gpu --results /shared/nearfar                        show changes as a diff
  nearfar slurm install --partition gpu --results /shared/nearfar --apply                install, as root
  nearfar slurm install --partition gpu --results /shared/nearfar --root ./tree --apply  for a package, Ansible or an image
  nearfar slurm install --partition gpu --results /shared/nearfar --what health prolog epilog --apply    on a node
  nearfar slurm install --every 2 --apply                                                change one option

Options that you leave out keep their installed values (/etc/nearfar/installed.json); --metrics '' or NEARFAR_SITE='' removes one.
The scripts set the NEARFAR_… and SLURM_CONF variables of this shell, but not its PYTHONPATH. --apply also replaces files that were
edited since; the diff shows them. You create directories, edit slurm.conf, enable timers and grant rights; nearfar slurm doctor lists
what is missing. Templates: site/templates/slurm/, or those of the same name in NEARFAR_SITE. More: docs/slurm.md
exit codes: 0 done, or shown; 2 wrong use; 3 a file could not be read or written
"""
#: Variables of this shell that the scripts set too. PYTHONPATH is never one of them.
_KEPT = ("NEARFAR_SITE", "NEARFAR_STATE", "NEARFAR_PROGRAMS", "NEARFAR_HISTORY", "NEARFAR_METRICS", "SLURM_CONF")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Install the timers of nightly sweeps and act, the health check, prolog and epilog. Without --apply: show a diff."
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--partition", "-p", metavar="P", help="Slurm's partition for nightly sweeps")
    add("--results", metavar="DIR", type=Path, help="the shared results directory")
    add("--what", choices=PARTS, nargs="+", help="the parts to install on this machine (default: all)")
    add("--user", metavar="NAME", help="the user that runs nightly sweeps and owns the results (default: nearfar)")
    add("--act-user", metavar="NAME", help="the user that runs act, with Slurm's operator rights (default: root)")
    add("--at", metavar="HH:MM", help="when the nightly sweep starts (default: 02:30)")
    add("--deadline", metavar="HOURS", type=float, help="how long the nightly sweep may take (default: 5)")
    add("--every", metavar="MINUTES", type=int, help="minutes between two runs of act (default: 5; at most 59)")
    add("--nightly", metavar="OPTION", action="append", help="an extra option for the nightly nearfar slurm sweep")
    add("--act", metavar="OPTION", action="append", help="an extra option for nearfar slurm act")
    add("--state", metavar="DIR", type=Path, help="act's ledger, on a local disk (default: /var/lib/nearfar/act)")
    shared = "shared directory for health findings, written by root of each node (default: RESULTS-health)"
    add("--health-output", metavar="DIR", type=Path, help=shared)
    add("--folder", metavar="DIR", type=Path, default=Path(FOLDER), help=f"where the scripts go (default: {FOLDER})")
    add("--metrics", metavar="DIR", help="node_exporter's textfile directory (default: NEARFAR_METRICS)")
    add("--slurm-bin", metavar="DIR", type=Path, help="directory of Slurm's commands (default: from PATH)")
    add("--slurm-conf", metavar="FILE", help="path of slurm.conf (default: SLURM_CONF, if set)")
    add("--root", metavar="DIR", type=Path, default=Path("/"), help="write below this directory (default: /)")
    add("--apply", action="store_true", help="write the files, instead of only showing the changes")
    add("--json", action="store_true", help="print the changes as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Show the diff; with ``--apply`` carry it out."""
    root = args.root.absolute()
    installed = install.read(str(args.folder.absolute()), root)
    wanted = install.changes(install.rendered(_options(args, installed)), installed, root)
    if args.apply:
        install.apply(wanted)
    if args.json:
        document = {
            "schema": "nearfar-install-changes/3", "applied": args.apply, "changed": bool(wanted),
            "files": [change.entry() for change in wanted],
        }  # fmt: skip
        print_json(document)
        return EXIT_GOOD
    for change in wanted:
        print("\n".join(change.diff()))
    done = "changed; nearfar slurm doctor lists what is left to do" if args.apply else "would change: add --apply"
    print(f"{plural(len(wanted), 'file')} {done}" if wanted else "nothing to change")
    return EXIT_GOOD


def _options(args: argparse.Namespace, installed: Installed | None) -> InstallOptions:
    """What is to be installed: each option as it is named, else as it was installed, else its default."""
    refuse_outside("--deadline", 5.0 if args.deadline is None else args.deadline, 0.0, 8784.0, "hours")
    refuse_outside("--every", 5 if args.every is None else args.every, 1, 59, "minutes")
    given = {each.name: getattr(args, each.name, None) for each in fields(InstallOptions)}
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in named.items():
        if isinstance(value, Path):
            named[name] = str(value.absolute())
        elif isinstance(value, list):
            named[name] = tuple(value)
    if installed is None:
        if args.partition is None or args.results is None:
            raise NearfarError("--partition and --results: needed; nearfar slurm install --help has examples")
        scontrol = shutil.which("scontrol")
        folder = "" if scontrol is None else os.path.dirname(os.path.abspath(scontrol))
        before = InstallOptions(**{"health_output": f"{named['results']}-health", "slurm_bin": folder, **named})
    else:
        before = installed.options
    what = {*named.get("what", before.what)}
    if {"prolog", "epilog"} & what:
        what.add("health")  # which they call
    own = {"NEARFAR_METRICS": args.metrics, "SLURM_CONF": args.slurm_conf}
    environment = {**before.environment, **{name: os.environ[name] for name in _KEPT if name in os.environ}}
    environment |= {name: value and os.path.abspath(value) for name, value in own.items() if value is not None}
    named["what"] = tuple(part for part in PARTS if part in what)
    named |= {"python": sys.executable, "checkout": str(places.IMPORT_PATH)}
    return replace(before, **named, environment={name: value for name, value in environment.items() if value})
