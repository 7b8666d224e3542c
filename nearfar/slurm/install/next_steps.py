"""What an administrator does once the files are in place."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from nearfar.base import places

from . import slurm_conf
from .options import ON_NODES, InstallOptions


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
        if _owner(path) != user:
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
        lines = slurm_conf.lines(options) if settings is None else slurm_conf.changes(options, settings)
        yield from (f"slurm.conf: {line}" for line in lines)
        if lines:
            yield "scontrol reconfigure"
    if options.metrics is not None:
        yield (
            f"node_exporter --collector.textfile.directory={options.metrics} on every machine, writable by {options.user}, "
            f"{options.act_user} and root: docs/deploy.md"
        )
    yield "nearfar slurm doctor"


def _owner(path: str) -> str | None:
    try:
        return Path(path).owner()
    except (OSError, KeyError):
        return None
