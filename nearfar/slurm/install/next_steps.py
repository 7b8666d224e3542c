"""What an administrator does once the files are in place, and the lines that slurm.conf, which is the site's, needs."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from nearfar.base import places

from .options import ON_NODES, InstallOptions

#: Slurm's words for a setting that is not set.
_UNSET = ("", "(null)")
_PROGRAMS = ("HealthCheckProgram", "Prolog", "Epilog")


def wanted(options: InstallOptions) -> dict[str, str]:
    """The settings by name: for the parts of the nodes that are installed here, else for all of them."""
    parts = {*options.what} & {*ON_NODES} or {*ON_NODES}
    settings: dict[str, str] = {}
    if "health" in parts:
        settings["HealthCheckProgram"] = f"{options.folder}/health-check"
        settings |= {"HealthCheckInterval": "300", "HealthCheckNodeState": "IDLE,CYCLE"}
    if "prolog" in parts:
        settings |= {"Prolog": f"{options.folder}/prolog", "PrologFlags": "Alloc"}
    if "epilog" in parts:
        settings["Epilog"] = f"{options.folder}/epilog"
    return settings


def slurm_conf(options: InstallOptions) -> list[str]:
    """The lines of slurm.conf."""
    return [f"{name}={value}" for name, value in wanted(options).items()]


def lacking_lines(options: InstallOptions, present: Mapping[str, str]) -> list[str]:
    """The lines that slurm.conf lacks, each with the present value; ``present``: what ``scontrol show config`` says."""
    lacking = []
    for name, value in wanted(options).items():
        now = present.get(name, "").strip()
        if _is_set(name, value, now):
            continue
        isset = now not in _UNSET
        both = f"; to keep both, call {value} from it and end with its exit code" if isset and name in _PROGRAMS else ""
        more = f"{now}," if isset and name == "PrologFlags" else ""
        lacking.append(f"{name}={more}{value}    # now: {now if isset else 'not set'}{both}")
    return lacking


def _is_set(name: str, value: str, now: str) -> bool:
    """Whether a setting serves; an interval and states of the site's own do, and so does a program that calls ours."""
    if name == "HealthCheckInterval":
        return now.split(" ")[0].isdigit() and now.split(" ")[0] != "0"
    if name == "HealthCheckNodeState":
        return now.upper() in ("ANY", "START_ONLY") or "IDLE" in now.upper().replace("|", ",").split(",")
    if name == "PrologFlags":
        return value.lower() in now.lower().split(",")
    return any(_calls(path, value) for word in re.split(r"[,\s]+", now) for path in (glob.glob(word) or [word]))


def _calls(path: str, ours: str) -> bool:
    """Whether a program is ours, or a script of this machine that names ours."""
    try:
        return os.path.realpath(path) == os.path.realpath(ours) or ours in Path(path).read_text(errors="replace")
    except OSError:
        return False


def left_to_do(options: InstallOptions, settings: Mapping[str, str] | None) -> Iterator[str]:
    """A line for each step. ``settings``: Slurm's own; None where they are not known."""
    owners: dict[str, str] = {}
    if "nightly" in options.what and places.CHECKOUT is not None and "NEARFAR_STATE" not in options.environment:
        owners[f"{options.checkout}/reports"] = options.user
    if {"nightly", "act"} & {*options.what}:
        owners[options.results] = options.user
    if "act" in options.what:  # systemd makes a state directory below /var/lib, and act any other
        owners[options.health_output] = "root"
    for path, user in owners.items():
        try:
            owner = Path(path).owner()
        except (OSError, KeyError):
            owner = ""
        if owner != user:
            yield f"install -d -o {user} -m 0755 {shlex.quote(path)}"
    if options.user == options.act_user:
        yield f"{options.user} both measures and drains: use two users (--act-user root)"
    if "act" in options.what and options.act_user != "root":
        yield f"sacctmgr modify user {options.act_user} set adminlevel=operator    # act drains and resumes nodes"
    if "act" in options.what:
        yield f"the system's file, unless it has an act section: act: {{trusted: [root, {options.user}]}}    # docs/slurm.md"
    timers = [f"nearfar-{part}.timer" for part in ("nightly", "act") if part in options.what]
    if timers and options.timer == "systemd":
        yield f"systemctl daemon-reload && systemctl enable --now {' '.join(timers)}"
    if {*options.what} & {*ON_NODES}:
        yield f"every node needs {options.folder}, {options.checkout} and the site's files in the same place, writable by root alone"
        lacking = slurm_conf(options) if settings is None else lacking_lines(options, settings)
        yield from (f"slurm.conf: {line}" for line in lacking)
        if lacking:
            yield "scontrol reconfigure"
    if options.metrics is not None:
        yield (
            f"node_exporter --collector.textfile.directory={options.metrics} on every machine, writable by {options.user}, "
            f"{options.act_user} and root: docs/deploy.md"
        )
    yield "nearfar slurm doctor"
