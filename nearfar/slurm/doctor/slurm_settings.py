"""Does slurm.conf name the installed programs, and do the nodes run them?"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path

from nearfar.base import NearfarError, plural
from nearfar.slurm.controller import node_names
from nearfar.slurm.install import ON_NODES, slurm_conf

from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

#: Seconds that an idle node may be without a look, whatever the interval.
_LEAST = 1800.0
_PROGRAMS = ("HealthCheckProgram", "Prolog", "Epilog")


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """An answer for each setting, and one about the nodes' looks."""
    if not site.parts & set(ON_NODES):
        return
    try:
        present = site.settings
    except NearfarError as error:
        yield not_looked("slurm.conf", first_line(error))
        return
    for part in sorted(site.parts & set(ON_NODES)):
        options = site.known.parts[part].options
        for name, value in slurm_conf.wanted(options).items():
            if _part(name) != part:
                continue
            now = present.get(name, "(null)")
            if slurm_conf.same(name, value, now):
                yield ok("slurm.conf", f"{name}={now}")
            elif name in _PROGRAMS and leads_to(now, value):
                yield ok("slurm.conf", f"{name}={now}, which calls {value}")
            else:
                yield problem(
                    "slurm.conf", f"{name} is {now or 'not set'}", f"{name}={value}, then scontrol reconfigure"
                )
    if "health" in site.parts:
        yield from _looks(site)


def _part(setting: str) -> str:
    return "prolog" if setting.startswith("Prolog") else "epilog" if setting == "Epilog" else "health"


def leads_to(setting: str, ours: str) -> bool:
    """Whether what a setting names (paths, patterns of paths) is or calls one of our programs, as far as this machine has it."""
    for word in re.split(r"[,\s]+", setting):
        for path in glob.glob(word) or [word]:
            try:
                if os.path.realpath(path) == os.path.realpath(ours) or ours in Path(path).read_text(errors="replace"):
                    return True
            except OSError:
                continue
    return False


def _looks(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """Whether idle nodes leave looks: the only thing that tells from here whether they have the files."""
    folder = Path(site.options.findings)
    try:
        found = {path.stem: path.stat().st_mtime for path in folder.iterdir() if path.suffix == ".json"}
        interval = re.match(r"\d+", site.settings.get("HealthCheckInterval", ""))
        patience = max(_LEAST, 3.0 * float(interval[0] if interval else 0))
        idle = {
            name: node for name, node in site.nodes.items() if node.idle and site.options.partition in node.partitions
        }
    except OSError as error:
        yield not_looked("looks of the nodes", f"{folder}: {error.strerror}")
        return
    except NearfarError as error:
        yield not_looked("looks of the nodes", first_line(error))
        return
    due = [name for name, node in idle.items() if site.now - (node.busy or 0.0) > patience]
    silent = [name for name in due if site.now - found.get(name, 0.0) > patience]
    minutes, by_hand = f"{patience / 60:.0f} minutes", f"{site.options.folder}/health-check"
    if silent:
        words = f"{node_names.fold(silent)}: idle, and no look in {folder} for {minutes}"
        how = f"on such a node, as root: {by_hand}; then HealthCheckProgram"
        if site.options.collect is not None:
            how += f"; and {site.options.folder}/collect here"
        yield problem("looks of the nodes", words, how)
    elif due:
        which = f"all {len(due)} that were idle for {minutes}" if len(due) > 1 else f"{due[0]}, idle for {minutes},"
        yield ok("looks of the nodes", f"{which} left one since ({plural(len(found), 'look')} in all)")
    else:
        words = f"{plural(len(idle), 'node')} of {site.options.partition} idle, none of them for {minutes} yet; "
        fresh = sum(site.now - at <= patience for at in found.values())
        if fresh:
            yield ok("looks of the nodes", f"{words}{plural(fresh, 'look')} left since")
        else:
            how = f"check again in {minutes}; at once, on a node, as root: {by_hand}"
            yield not_looked("looks of the nodes", f"{words}no look left since", how)
