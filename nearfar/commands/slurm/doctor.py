"""``nearfar slurm doctor``: check what nearfar slurm install has installed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from nearfar.base import CouldNotJudge, plural
from nearfar.slurm.doctor import NOT_LOOKED, PROBLEM, DoctorAnswer, InstalledSite, ask_all, exit_code
from nearfar.slurm.install import manifest

_EPILOG = """examples:
  nearfar slurm doctor                       as root, on the machine that runs act
  nearfar slurm doctor --json                for a monitor
  nearfar slurm doctor --folder /opt/nearfar where install was told --folder

It looks, and changes nothing. The dry walk takes a made-up finding (a GPU absent from an idle node) from a node's look to what act
would do, in a directory of its own: no node is touched, and nothing is written into act's log.
exit codes: 0 all is well, 1 something is wrong, 2 wrong use, 3 nothing is wrong that could be seen, and something could not be seen
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Look at what nearfar slurm install has installed: files, timers, rights, Slurm's settings, clocks, versions."
    )
    parser.epilog = _EPILOG
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
    parser.add_argument("--json", action="store_true", help="the answers as JSON")


def run(args: argparse.Namespace) -> int:
    """Look, and say what was seen."""
    known = manifest.read(str(args.folder), args.root.absolute())
    if not known.parts:
        raise CouldNotJudge(
            f"{known.path}: not there: nothing is installed here that this version knows of; nearfar slurm install "
            "--partition=P --results=DIR --user=NAME --apply"
        )
    site = InstalledSite(known, time.time())
    found = []
    for answer in ask_all(site):
        found.append(answer)
        if not args.json:
            _tell(answer)
    if args.json:
        document = {"schema": "nearfar-doctor/1", "answers": [asdict(answer) for answer in found]}
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print(_summary(found))
    return exit_code(found)


def _tell(answer: DoctorAnswer) -> None:
    print(f"{answer.verdict:<14} {answer.about}: {answer.words}", flush=True)
    if answer.remedy is not None:
        print(f"{'':<14} {'→'} {answer.remedy}", flush=True)


def _summary(found: Iterable[DoctorAnswer]) -> str:
    verdicts = [answer.verdict for answer in found]
    wrong, unseen = verdicts.count(PROBLEM), verdicts.count(NOT_LOOKED)
    if not wrong and not unseen:
        return f"all is well ({len(verdicts)} answers)"
    parts = [plural(wrong, "problem")] if wrong else []
    return ", ".join([*parts, *([f"{unseen} not looked at"] if unseen else [])])
