"""What is left to do by hand once the files are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from . import slurm_conf
from .options import NOTE, ON_NODES, InstallOptions, again
from .rendering import rendered

#: The last of them.
LAST = "look whether all is well: nearfar slurm doctor"


def after_writing(options: InstallOptions, present: Mapping[str, str] | None, directories: Sequence[str]) -> list[str]:
    """A line for each step. ``present``: Slurm's settings, None where they are not known; ``directories``: what is wrong with
    those that are needed."""
    steps = list(directories)
    timers = [f"nearfar-{part}.timer" for part in ("nightly", "act") if part in options.what]
    if timers and options.timer == "systemd":
        steps.append(f"start the timers: systemctl daemon-reload && systemctl enable --now {' '.join(timers)}")
        if not Path("/run/systemd/system").is_dir():
            steps.append(
                f"this machine does not run systemd: {again(options.folder, '--timer=cron')}, or install elsewhere"
            )
    if "act" in options.what:
        steps += _for_act(options)
    on_nodes = [file.path for file in rendered(options) if file.part in ON_NODES and file.mode == 0o755]
    if on_nodes:
        steps.append(
            f"every node needs {', '.join(on_nodes)} in the same place, root's alone: copy them, or type there: {_there(options)}"
        )
        steps.append(f"every node needs {options.checkout} and {options.python} in the same place, root's alone too")
        steps += _settings(options, present)
    if options.metrics is not None:
        steps.append(
            f"node_exporter --collector.textfile.directory={options.metrics} on every machine; {options.act_user} has to be able to write "
            f"there on this one, {options.user} and root on the nodes: docs/guide/monitoring.md"
        )
    return steps


def _there(options: InstallOptions) -> str:
    """The line that installs on a node what is its own."""
    words = [f"--partition={options.partition}", f"--results={options.results}"]
    words += [f"--health-output={options.health_output}"] if options.collect is None else []
    words += [f"--prolog={options.prolog}"] if options.prolog != NOTE else []
    words += [f"--metrics={options.metrics}"] if options.metrics is not None else []
    return again(options.folder, *words, "--what", *(part for part in options.what if part in ON_NODES))


def _for_act(options: InstallOptions) -> list[str]:
    steps = []
    if options.act_user != "root":
        steps.append(
            f"{options.act_user} needs Slurm's operator rights: sacctmgr modify user {options.act_user} set adminlevel=operator"
        )
    if options.user != "root":
        steps.append(
            f"the system's file says what act may do (`act:`), and needs `trusted: [root, {options.user}]`: docs/guide/slurm-act.md"
        )
    if options.collect is None:
        steps.append(
            f"every node writes its findings to {options.health_output}, where act reads them: it must be a directory that all "
            "share, and that their root can write to"
        )
    else:
        steps.append(f"{options.folder}/collect brings the nodes' findings to {options.collect} before each act, as root by rsync over "
                     "ssh without a password, as `ssh NODE true` has to work")  # fmt: skip
    return steps


def _settings(options: InstallOptions, present: Mapping[str, str] | None) -> list[str]:
    if present is None:
        words = "slurm.conf (present values not known: scontrol show config did not answer)"
        return [f"{words}: {line}" for line in slurm_conf.lines(options)]
    lines = slurm_conf.changes(options, present)
    return [*(f"slurm.conf: {line}" for line in lines), *(["after that: scontrol reconfigure"] if lines else [])]


def after_removal(parts: Sequence[str], folder: str) -> list[str]:
    """What is left once files have been removed."""
    steps = []
    if {"nightly", "act"} & set(parts):
        steps.append("systemctl daemon-reload, where systemd started the timers")
    if set(ON_NODES) & set(parts):
        steps.append(
            f"slurm.conf: take out what names {folder} (HealthCheckProgram, Prolog, Epilog), then scontrol reconfigure; then remove "
            "the nodes' copies"
        )
    return steps
