"""``nearfar slurm install``: scripts, timers and directories for nightly runs, act and health checks, shown as a diff first."""

from __future__ import annotations

import argparse
import getpass
import json
import os
from collections.abc import Sequence
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError
from nearfar.commands import refuse_outside
from nearfar.slurm.act import STATE
from nearfar.slurm.controller import Slurm, node_names, versions
from nearfar.slurm.health import OUTPUT
from nearfar.slurm.install import (
    COLLECTED,
    FAIL,
    NOTE,
    PARTS,
    TIMERS,
    InstallManifest,
    InstallOptions,
    directories,
    install,
    manifest,
    next_steps,
    search_path,
    slurm_directory,
    surroundings,
)

from . import renamed

_EPILOG = """examples:
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar            what would change, as a diff
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --apply    and write it
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --prolog fail --every 2 --apply
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --health-output /shared/nearfar-health
  nearfar slurm install --partition gpu --results /shared/nearfar --what health prolog epilog --apply      on a node
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --timer cron --at 01:00 --what nightly
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --root ./image --slurm-version 23.11 --apply
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --nightly=--sbatch=--qos=preemptible
  nearfar slurm install --remove --apply                                                    all that was installed
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --json     for programs: nothing is written

From site/templates/slurm/; templates of the same name in a site's own directory (NEARFAR_SITE) come first. The scripts get PATH and
SLURM_CONF of this machine and this shell. A file that was edited since is kept (--force replaces it). slurm.conf is not touched:
what it lacks is said, with the present values. `nearfar slurm doctor` looks whether all is well. docs/guide/slurm.md
exit codes: 0 done, or shown; 2 wrong use; 3 it could not be written, or Slurm's version could not be read
"""
#: Seconds that Slurm has to say its version and its settings.
_PATIENCE = 10.0
#: An earlier name of a part.
_EARLIER = {"timer": "nightly"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Render the timers of nightly runs and of act, the health check, prolog and epilog; show what changes; install it."
    parser.epilog = _EPILOG
    parser.add_argument("--partition", "-p", metavar="P", help="Slurm's partition for nightly runs")
    parser.add_argument("--results", metavar="DIR", type=Path, help="the shared results directory")
    parser.add_argument(
        "--what", choices=PARTS, type=lambda word: _EARLIER.get(word, word), nargs="+", help="(default: all of them)"
    )
    parser.add_argument("--user", metavar="NAME", help="who runs and submits nightly runs (default: you; not root)")
    parser.add_argument(
        "--act-user", metavar="NAME", help="who runs act, with Slurm's operator rights (default: --user)"
    )
    parser.add_argument("--timer", choices=TIMERS, default="systemd", help="what starts them (default: systemd)")
    parser.add_argument("--at", metavar="HH:MM", default="02:30", help="when nights begin (default: 02:30)")
    parser.add_argument("--deadline", metavar="HOURS", type=float, default=5.0, help="how long a night is (default: 5)")
    parser.add_argument(
        "--every", metavar="MINUTES", type=int, default=5, help="between two act (default: 5; at most 59)"
    )
    parser.add_argument(
        "--prolog", choices=(NOTE, FAIL), default=NOTE,
        help="what hard evidence before a job does: it is noted, or the job does not start here and Slurm drains the node "
        "(default: note)",
    )  # fmt: skip
    parser.add_argument(
        "--nightly",
        metavar="OPTION",
        action="append",
        default=[],
        help="a further option of the night's nearfar slurm sweep --idle",
    )
    parser.add_argument(
        "--act", metavar="OPTION", action="append", default=[], help="a further option of nearfar slurm act"
    )
    parser.add_argument("--state", metavar="DIR", type=Path, default=STATE, help=f"act's log (default: {STATE})")
    parser.add_argument("--health-output", metavar="DIR", type=Path,
                        help=f"where nodes write findings: a directory that all share (default: {OUTPUT}, each its own)")  # fmt: skip
    parser.add_argument("--collect", metavar="DIR", type=Path,
                        help=f"where findings that nodes keep are brought together (default: {COLLECTED})")  # fmt: skip
    parser.add_argument(
        "--folder",
        metavar="DIR",
        type=Path,
        default=Path("/etc/nearfar"),
        help="of the scripts (default: /etc/nearfar)",
    )
    parser.add_argument(
        "--metrics", metavar="DIR", type=Path,
        help="the directory on every machine in which node_exporter finds text files: act, looks and runs each write one "
        "(default: NEARFAR_METRICS, else none)",
    )  # fmt: skip
    parser.add_argument("--slurm-bin", metavar="DIR", type=Path, help="Slurm's commands (default: as on the PATH here)")
    parser.add_argument("--slurm-conf", metavar="FILE", type=Path, help="(default: SLURM_CONF, if it is set)")
    parser.add_argument("--slurm-version", metavar="YY.MM", help="(default: that of the scontrol here)")
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=Path("/"), help="a directory that stands for / (default: /)"
    )
    parser.add_argument("--diff", action="store_true", help="show what would change, and write nothing (the default)")
    parser.add_argument("--apply", action="store_true", help="write it")
    parser.add_argument(
        "--force", action="store_true", help="also files that were edited by hand, or were there before"
    )
    parser.add_argument("--remove", action="store_true", help="remove what was installed, and nothing else")
    parser.add_argument("--json", action="store_true", help="say what changes, or what was changed, as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Show the diff; write where that was asked for."""
    if args.diff and args.apply:
        raise NearfarError("--diff shows, --apply writes: choose one")
    known = manifest.read(str(args.folder), args.root.absolute())
    if args.remove:
        return _remove(args, known)
    options = _options(args)
    wanted, kept = _sorted(install.changes(options, known), args)
    here = args.root == Path("/")
    absent = directories.missing(options) if here else []
    noted = install.noted_otherwise(options, known)
    steps: list[str] = []
    if args.apply:
        install.write(wanted, options, known)
        problems = directories.make(options) if here else directories.to_make(options)
        absent = [path for path in absent if path not in directories.missing(options)]
        steps = next_steps.after_writing(options, _settings(args) if here else None, problems)
    if args.json:
        _print_json(args, bool(wanted or absent) or noted, wanted, kept, absent, steps)
        return EXIT_GOOD
    if args.apply:
        print(f"{_many(wanted)} written" if wanted else "nothing to change")
    elif wanted:
        print(f"{_many(wanted)} would be written: --apply writes {'it' if len(wanted) == 1 else 'them'}")
    else:
        print("nothing to change")
    _told_kept(kept)
    if args.apply:
        print("left to do:", *(f"  {step}" for step in steps), sep="\n")
    return EXIT_GOOD


def _remove(args: argparse.Namespace, known: InstallManifest) -> int:
    if not known.parts and not args.json:
        raise NearfarError(f"{known.path}: nothing that is known was installed here; --folder DIR, --root DIR?")
    what = tuple(args.what or PARTS)
    wanted, kept = _sorted(install.removal(known, what), args)
    parts = [name for name in known.parts if name in what]
    if args.apply and parts:
        install.remove(wanted, known, what)
    steps = next_steps.after_removal(parts, str(args.folder)) if args.apply else []
    if args.json:
        _print_json(args, bool(wanted), wanted, kept, [], steps)
        return EXIT_GOOD
    if args.apply:
        print(f"{_many(wanted)} removed")
    else:
        print(f"{_many(wanted)} would be removed: --apply removes {'it' if len(wanted) == 1 else 'them'}")
    _told_kept(kept)
    for step in steps:
        print(f"  {step}")
    return EXIT_GOOD


def _print_json(
    args: argparse.Namespace, changed: bool, wanted: Sequence[install.Change], kept: Sequence[install.Change],
    absent: Sequence[str], steps: Sequence[str],
) -> None:  # fmt: skip
    """Tell programs what changes, or was changed. ``directories`` are those to be made, or made; ``changed`` is true also where the
    files are as they should be and ``installed.json`` says something else of them."""
    print(json.dumps({
        "schema": "nearfar-install-changes/1", "applied": bool(args.apply), "changed": changed,
        "files": [*(c.entry(kept=False) for c in wanted), *(c.entry(kept=True) for c in kept)],
        "directories": list(absent), "left_to_do": list(steps),
    }, indent=1, ensure_ascii=False))  # fmt: skip


def _sorted(
    found: Sequence[install.Change], args: argparse.Namespace
) -> tuple[list[install.Change], list[install.Change]]:
    """What is to be done, and what is kept because somebody has edited it; all of it is shown."""
    for change in [] if args.json else found:
        print("\n".join(change.diff()))
    return [c for c in found if args.force or not c.edited], [c for c in found if c.edited and not args.force]


def _told_kept(kept: Sequence[install.Change]) -> None:
    for change in kept:
        print(f"{change.place}: kept: edited since it was installed, or there before; --force takes no heed of that")


def _many(changes: Sequence[install.Change]) -> str:
    return f"{len(changes)} file{'' if len(changes) == 1 else 's'}"


def _options(args: argparse.Namespace) -> InstallOptions:
    for option in ("partition", "results"):
        if getattr(args, option) is None:
            raise NearfarError(f"--{option}: is needed; nearfar slurm install --help has examples")
    if not node_names.NAME.fullmatch(args.partition):
        raise NearfarError(f"--partition {args.partition}: not the name of a partition")
    refuse_outside("--deadline", args.deadline, 0.0, 8784.0, "hours")
    refuse_outside("--every", args.every, 1, 59, "minutes")
    what = tuple(part for part in PARTS if part in (args.what or PARTS) or (part == "health" and _looks(args.what)))
    user = args.user or getpass.getuser()
    if user == "root" and "nightly" in what:
        raise NearfarError("--user: nightly runs submit jobs, for which nobody needs root; name a user of their own")
    collect = args.collect or (Path(COLLECTED) if args.health_output is None else None)
    slurm_bin = str(args.slurm_bin.absolute()) if args.slurm_bin else slurm_directory()
    if args.slurm_conf is not None and args.root == Path("/") and not args.slurm_conf.exists():
        raise NearfarError(f"--slurm-conf {args.slurm_conf}: no such file that this user can see")
    return InstallOptions(
        partition=args.partition, results=str(args.results.absolute()), user=user, act_user=args.act_user or user,
        version=_version(args), what=what, at=args.at, timer=args.timer, hours=args.deadline, every=args.every,
        prolog=args.prolog, folder=str(args.folder), state=str(args.state.absolute()),
        health_output=str((args.health_output or OUTPUT).absolute()),
        collect=None if collect is None else str(collect.absolute()),
        words=tuple(map(renamed.today, args.nightly)), act_words=tuple(map(renamed.today, args.act)),
        path=search_path(slurm_bin),
        environment=surroundings(
            None if args.slurm_conf is None else str(args.slurm_conf.absolute()),
            None if args.metrics is None else str(args.metrics.absolute()),
        ),
    )  # fmt: skip


def _looks(what: Sequence[str] | None) -> bool:
    """Whether a prolog or an epilog is among the parts: they call the health check."""
    return bool({"prolog", "epilog"} & set(what or ()))


def _slurm(args: argparse.Namespace) -> Slurm:
    environ = dict(os.environ)
    if args.slurm_bin is not None:
        environ["PATH"] = f"{args.slurm_bin.absolute()}:{environ.get('PATH', '')}"
    if args.slurm_conf is not None:
        environ["SLURM_CONF"] = str(args.slurm_conf.absolute())
    return Slurm(environ, _PATIENCE)


def _settings(args: argparse.Namespace) -> dict[str, str] | None:
    try:
        return _slurm(args).settings()
    except NearfarError:
        return None


def _version(args: argparse.Namespace) -> versions.Version:
    if args.slurm_version is None:
        try:
            return _slurm(args).version()
        except NearfarError as error:
            raise type(error)(
                f"{error}; run it where Slurm answers, or name the directory of its commands (--slurm-bin DIR) "
                "or Slurm's version (--slurm-version 23.11)"
            ) from None
    version = versions.parse(args.slurm_version)
    if version is None or version < versions.OLDEST:
        oldest = versions.words(versions.OLDEST)
        raise NearfarError(f"--slurm-version {args.slurm_version}: expected a version from {oldest} on, as 23.11")
    return version
