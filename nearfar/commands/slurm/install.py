"""``nearfar slurm install``: the timer and scripts for nightly runs and health checks, shown as a diff first."""

from __future__ import annotations

import argparse
import getpass
import re
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.commands import refuse_outside
from nearfar.slurm.controller import OLDEST, Slurm, node_names
from nearfar.slurm.health import OUTPUT
from nearfar.slurm.install import install

from . import renamed

_EPILOG = """examples:
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar            what would change, as a diff
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --apply    and write it
  nearfar slurm install --partition gpu --results /shared/nearfar --timer cron --at 01:00 --what timer
  nearfar slurm install --partition gpu --results /shared/nearfar --root ./image --slurm-version 23.11 --apply
  nearfar slurm install --partition gpu --results /shared/nearfar --nightly=--sbatch=--qos=preemptible

From site/templates/slurm/; templates of the same name in a site's own directory (NEARFAR_SITE) come first.
slurm.conf is not touched: the lines for it are written beside the scripts.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Render the timer of nightly runs, the health check and an epilog, show what changes, and install it."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--partition", "-p", metavar="P", required=True, help="Slurm's partition for nightly runs")
    parser.add_argument("--results", metavar="DIR", type=Path, required=True, help="the shared results directory")
    parser.add_argument("--what", choices=install.WHAT, nargs="+", default=list(install.WHAT), help="(default: both)")
    parser.add_argument("--user", metavar="NAME", help="who runs and submits nightly runs (default: you; not root)")
    parser.add_argument(
        "--timer", choices=install.TIMERS, default="systemd", help="what starts them (default: systemd)"
    )
    parser.add_argument("--at", metavar="HH:MM", default="02:30", help="when (default: 02:30)")
    parser.add_argument("--deadline", metavar="HOURS", type=float, default=5.0, help="how long a night is (default: 5)")
    parser.add_argument(
        "--nightly", metavar="OPTION", action="append", default=[], help="a further option of nearfar slurm nightly"
    )
    parser.add_argument("--health-output", metavar="DIR", type=Path, default=OUTPUT,
                        help=f"where health findings go (default: {OUTPUT})")  # fmt: skip
    parser.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        default=Path("/etc/nearfar"),
        help="of the scripts (default: /etc/nearfar)",
    )
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=Path("/"), help="a directory that stands for / (default: /)"
    )
    parser.add_argument("--slurm-version", metavar="YY.MM", help="(default: that of the scontrol here)")
    parser.add_argument("--diff", action="store_true", help="show what would change, and write nothing (the default)")
    parser.add_argument("--apply", action="store_true", help="write it")


def run(args: argparse.Namespace) -> int:
    """Show the diff; write where that was asked for."""
    if args.diff and args.apply:
        raise NearfarError("--diff shows, --apply writes: choose one")
    if not node_names.NAME.fullmatch(args.partition):
        raise NearfarError(f"--partition {args.partition}: not the name of a partition")
    refuse_outside("--deadline", args.deadline, 0.0, 8784.0, "hours")
    user = args.user or getpass.getuser()
    if user == "root" and "timer" in args.what:
        raise NearfarError("--user: nightly runs submit jobs, for which nobody needs root; name a user of their own")
    options = install.InstallOptions(
        partition=args.partition, results=args.results.absolute(), user=user, version=_version(args),
        what=tuple(args.what), at=args.at, timer=args.timer, hours=args.deadline, folder=args.folder,
        root=args.root.absolute(), health_output=args.health_output, words=tuple(map(renamed.today, args.nightly)),
    )  # fmt: skip
    files = install.rendered(options)
    changed = [file for file in files if file.diff()]
    for file in changed:
        print("\n".join(file.diff()))
    many = f"{len(changed)} file{'' if len(changed) == 1 else 's'}"
    if not changed:
        print("nothing to change")
    elif args.apply:
        for file in changed:
            file.write()
        print("\n".join([f"{many} written", *install.next_steps(options)]))
    else:
        print(f"{many} would be written: --apply writes {'it' if len(changed) == 1 else 'them'}")
    return EXIT_GOOD


def _version(args: argparse.Namespace) -> tuple[int, int]:
    if args.slurm_version is None:
        return Slurm().version()
    match = re.fullmatch(r"(\d\d)\.(\d\d)(?:\..*)?", args.slurm_version)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        raise NearfarError(f"--slurm-version {args.slurm_version}: expected a version from 22.05 on, as 23.11")
    return int(match[1]), int(match[2])
