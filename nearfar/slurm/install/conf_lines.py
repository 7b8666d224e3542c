"""The lines that slurm.conf, which is the site's, needs."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path

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
