"""``nearfar slurm install``: scripts, timers and directories for nightly runs, act and health checks, shown as a diff first."""

from __future__ import annotations

import argparse
import getpass
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import EXIT_GOOD, NearfarError, plural
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
    as_installed,
    directories,
    install,
    known_names,
    manifest,
    next_steps,
    search_path,
    slurm_directory,
    surroundings,
)

_EPILOG = """examples:
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar            what would change, as a diff
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --apply    and write it
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --prolog fail --every 2 --apply
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --health-output /shared/nearfar-health
  nearfar slurm install --partition gpu --results /shared/nearfar --what health prolog epilog --apply      on a node
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --timer cron --at 01:00 --what nightly
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --root ./image --slurm-version 23.11 --apply
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --nightly=--sbatch=--qos=preemptible
  nearfar slurm install --every 2 --apply                        all else stays as it was installed (/etc/nearfar/installed.json)
  nearfar slurm install --drop metrics --apply                   without that option again
  nearfar slurm install --remove --apply                         all that was installed
  nearfar slurm install --partition gpu --results /shared/nearfar --user nearfar --json     for programs: nothing is written

From site/templates/slurm/; templates of the same name in a site's own directory (NEARFAR_SITE) come first. The scripts get PATH and
SLURM_CONF of this machine and this shell. A file that was edited since is kept (--force replaces it). slurm.conf is not touched:
missing settings are printed, with the present values. `nearfar slurm doctor` checks the installation. docs/guide/slurm.md
exit codes: 0 done, or shown; 2 wrong use; 3 it could not be written, or Slurm's version could not be read
"""
#: Seconds that Slurm has to say its version and its settings.
_PATIENCE = 10.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Render the timers of nightly runs and of act, the health check, prolog and epilog; show what changes; install it."
    parser.epilog = _EPILOG
    parser.add_argument("--partition", "-p", metavar="P", help="Slurm's partition for nightly runs")
    parser.add_argument("--results", metavar="DIR", type=Path, help="the shared results directory")
    parser.add_argument(
        "--what",
        choices=PARTS,
        nargs="+",
        help="(default: those that are installed, else all)",
    )
    parser.add_argument("--user", metavar="NAME", help="who runs and submits nightly runs (default: you; not root)")
    parser.add_argument(
        "--act-user", metavar="NAME", help="who runs act, with Slurm's operator rights (default: --user)"
    )
    parser.add_argument("--timer", choices=TIMERS, help="what starts them (default: systemd)")
    parser.add_argument("--at", metavar="HH:MM", help="when nights begin (default: 02:30)")
    parser.add_argument("--deadline", metavar="HOURS", type=float, help="how long a night is (default: 5)")
    parser.add_argument(
        "--every", metavar="MINUTES", type=int, help="minutes between two runs of act (default: 5; at most 59)"
    )
    parser.add_argument(
        "--prolog", choices=(NOTE, FAIL),
        help="what hard evidence before a job does: it is noted, or the job does not start here and Slurm drains the node "
        "(default: note)",
    )  # fmt: skip
    parser.add_argument(
        "--nightly",
        metavar="OPTION",
        action="append",
        help="a further option of the night's nearfar slurm sweep --idle",
    )
    parser.add_argument("--act", metavar="OPTION", action="append", help="a further option of nearfar slurm act")
    parser.add_argument("--state", metavar="DIR", type=Path, help=f"act's log (default: {STATE})")
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
        "--drop", choices=as_installed.DROPPABLE, nargs="+", default=[], metavar="OPTION",
        help=f"as by default again: {', '.join(as_installed.DROPPABLE)}",
    )  # fmt: skip
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
    if args.drop and args.remove:
        raise NearfarError("--drop OPTION installs again without it, --remove takes all away: choose one")
    known = manifest.read(str(args.folder), args.root.absolute())
    if args.remove:
        return _remove(args, known)
    named, plain = _named(args), _plain(args)
    first = not known.parts
    every = _options(args, known, named, plain)
    here = args.root == Path("/")
    unchecked = [line for options in every for line in known_names.check(options, _slurm(options))] if here else []
    found = [(options, *_sorted(install.changes(options, known), args)) for options in every]
    wanted, kept = [c for _, these, _ in found for c in these], [c for _, _, these in found for c in these]
    absent = list(dict.fromkeys(path for options in every for path in directories.missing(options))) if here else []
    noted = any(install.noted_otherwise(options, known) for options in every)
    steps: list[str] = []
    if args.apply:
        for options, these, _ in found:
            install.write(these, options, known)
            problems = directories.make(options) if here else directories.to_make(options)
            steps += next_steps.after_writing(options, _settings(options) if here else None, problems)
        left = {path for options in every for path in directories.missing(options)}
        absent = [path for path in absent if path not in left]
    if args.json:
        _print_json(args, bool(wanted or absent) or noted, wanted, kept, absent, [*unchecked, *steps])
        return EXIT_GOOD
    many, them = plural(len(wanted), "file"), "it" if len(wanted) == 1 else "them"
    done = f"{many} written" if args.apply else f"{many} would be written: --apply writes {them}"
    print(done if wanted else "nothing to change")
    _told_kept(kept)
    for line in dict.fromkeys([*(_as_installed(every, named, plain) if not first else []), *unchecked]):
        print(line)
    if args.apply:
        last = next_steps.LAST
        print("left to do:", *(f"  {step}" for step in [*dict.fromkeys(steps), last]), sep="\n")
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
        print(f"{plural(len(wanted), 'file')} removed")
    else:
        print(f"{plural(len(wanted), 'file')} would be removed: --apply removes {'it' if len(wanted) == 1 else 'them'}")
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
        "directories": list(absent), "left_to_do": list(dict.fromkeys(steps)),
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
        print(f"{change.place}: kept: edited since it was installed, or there before; --force replaces it")


def _options(
    args: argparse.Namespace, known: InstallManifest, named: Mapping[str, Any], plain: InstallOptions
) -> list[InstallOptions]:  # fmt: skip
    """What is to be installed; parts that were installed with other options each by themselves."""
    found: list[InstallOptions] = []
    for part in as_installed.parts(args.what, known):
        options = as_installed.merged(as_installed.before(known, part), plain, named, args.drop)
        same = next((each for each in found if replace(each, what=()) == replace(options, what=())), None)
        if same is None:
            found.append(replace(options, what=(part,)))
        else:
            found[found.index(same)] = replace(same, what=(*same.what, part))
    for options in found:
        _refuse(options)
    version = _version(args, found[0], known)
    # Templates and the site's files are those of the installation, whatever this shell has.
    if "NEARFAR_SITE" in found[0].environment:
        os.environ["NEARFAR_SITE"] = found[0].environment["NEARFAR_SITE"]
    elif "NEARFAR_SITE" in args.drop:
        os.environ.pop("NEARFAR_SITE", None)
    return [replace(options, version=version) for options in found]


def _named(args: argparse.Namespace) -> dict[str, Any]:
    """What this call names, by option."""
    refuse_outside("--deadline", 5.0 if args.deadline is None else args.deadline, 0.0, 8784.0, "hours")
    refuse_outside("--every", 5 if args.every is None else args.every, 1, 59, "minutes")
    if args.slurm_conf is not None and args.root == Path("/") and not args.slurm_conf.exists():
        raise NearfarError(f"--slurm-conf {args.slurm_conf}: no such file that this user can see")
    found = {
        "partition": args.partition, "results": args.results, "user": args.user, "act-user": args.act_user, "timer": args.timer,
        "at": args.at, "deadline": args.deadline, "every": args.every, "prolog": args.prolog, "state": args.state,
        "health-output": args.health_output, "collect": args.collect, "metrics": args.metrics, "slurm-conf": args.slurm_conf,
    }  # fmt: skip
    for option, words in (("nightly", args.nightly), ("act", args.act)):
        found[option] = None if words is None else tuple(words)
    found["slurm-bin"] = None if args.slurm_bin is None else search_path(str(args.slurm_bin.absolute()))
    whole = {name: str(value.absolute()) if isinstance(value, Path) else value for name, value in found.items()}
    return {name: value for name, value in whole.items() if value is not None}


def _plain(args: argparse.Namespace) -> InstallOptions:
    """What is not named and was not installed: defaults, this machine, this shell."""
    user = getpass.getuser()
    return InstallOptions(
        partition="", results="", user=user, act_user=user, version=versions.OLDEST, folder=str(args.folder),
        path=search_path(slurm_directory()), environment=surroundings(),
    )  # fmt: skip


def _refuse(options: InstallOptions) -> None:
    lacking = [f"--{option}" for option in ("partition", "results") if not getattr(options, option)]
    if lacking:
        raise NearfarError(f"{' and '.join(lacking)}: needed; nearfar slurm install --help has examples")
    if not node_names.NAME.fullmatch(options.partition):
        raise NearfarError(f"--partition {options.partition}: not the name of a partition")
    if options.user == "root" and "nightly" in options.what:
        raise NearfarError("--user: nightly runs submit jobs, for which nobody needs root; name a user of their own")


def _as_installed(every: Sequence[InstallOptions], named: Mapping[str, Any], plain: InstallOptions) -> Iterator[str]:
    """A line that says what was taken over from an earlier call."""
    for options in every:
        words = as_installed.taken_over(options, plain, named)
        which = "" if len(every) == 1 else f"{', '.join(options.what)}, "
        if words:
            yield f"{which}as installed: {words}"


def _slurm(options: InstallOptions) -> Slurm:
    """Slurm as the scripts will reach it."""
    conf = options.environment.get("SLURM_CONF")
    first = [options.slurm_bin] if options.slurm_bin else []
    environ = {**os.environ, "PATH": ":".join([*first, os.environ.get("PATH", "")])}
    return Slurm({**environ, **({"SLURM_CONF": conf} if conf else {})}, _PATIENCE)


def _settings(options: InstallOptions) -> dict[str, str] | None:
    try:
        return _slurm(options).settings()
    except NearfarError:
        return None


def _version(args: argparse.Namespace, options: InstallOptions, known: InstallManifest) -> versions.Version:
    """Slurm's version: as named, as Slurm says, or as installed."""
    if args.slurm_version is None:
        try:
            return _slurm(options).version()
        except NearfarError as error:
            before = as_installed.before(known, options.what[0])
            if before is not None:
                return before.version
            raise type(error)(
                f"{error}; run it where Slurm answers, or name the directory of its commands (--slurm-bin DIR) "
                "or Slurm's version (--slurm-version 23.11)"
            ) from None
    version = versions.parse(args.slurm_version)
    if version is None or version < versions.OLDEST:
        oldest = versions.words(versions.OLDEST)
        raise NearfarError(f"--slurm-version {args.slurm_version}: expected a version from {oldest} on, as 23.11")
    return version
