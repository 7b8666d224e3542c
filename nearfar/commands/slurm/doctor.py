"""``nearfar slurm doctor``: ten questions about what nearfar slurm install has installed."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_GOOD, CouldNotJudge, plural
from nearfar.slurm import install
from nearfar.slurm.install import FOLDER, doctor

_EPILOG = """examples:
  nearfar slurm doctor                       as root, on the machine that runs act
  nearfar slurm doctor --folder /opt/nearfar if you installed with --folder

It changes nothing.
exit codes: 0 no problems, 2 wrong use, 3 problems found
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Check ten things about an installation, and print for each problem what to type."
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--folder", metavar="DIR", type=Path, default=Path(FOLDER), help=f"of the scripts (default: {FOLDER})")
    add("--root", metavar="DIR", type=Path, default=Path("/"), help="use this directory as / (default: /)")


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answers as they come."""
    root = args.root.absolute()
    installed = install.read(str(args.folder.absolute()), root)
    if installed is None:
        typed = "nearfar slurm install --partition P --results DIR --apply"
        raise CouldNotJudge(f"{args.folder}: nothing is installed here; {typed}")
    # The site's files and Slurm are those of the scripts, whatever this shell has.
    for name in ("NEARFAR_SITE", "SLURM_CONF"):
        os.environ.pop(name, None)
        if name in installed.options.environment:
            os.environ[name] = installed.options.environment[name]
    problems = 0
    for about, words, remedy in doctor.ask_all(doctor.Installation(installed, root, time.time())):
        print(f"{'problem' if remedy else 'OK':<9} {about}: {words}", flush=True)
        if remedy is not None:
            problems += 1
            print(f"{'':<9} → {remedy}", flush=True)
    print(plural(problems, "problem") if problems else "all is well")
    return EXIT_COULD_NOT_JUDGE if problems else EXIT_GOOD
