"""Would the health check refuse to run? It does where others than root can change what it relies on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm.install import ON_NODES
from nearfar.slurm.trust import root_safe

from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

_ROOT = frozenset({0})


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """One answer; this machine's copies stand for the nodes'."""
    if not site.parts & set(ON_NODES):
        return
    options = site.options
    about = "health check as root"
    if os.geteuid() != 0:
        yield not_looked(about, "only root sees all that it relies on", "as root: nearfar slurm doctor")
        return
    try:
        root_safe.refuse([Path(options.python)], _ROOT, "Python")
        root_safe.refuse_tree(Path(options.checkout) / "nearfar", _ROOT, "nearfar")
        root_safe.refuse([site.known.place(f"{options.folder}/health-check")], _ROOT, "the health check")
        for path in options.environment.get("NEARFAR_SITE", "").split(":"):
            if path:
                root_safe.refuse_tree(Path(path), _ROOT, "the site's directory")
    except NearfarError as error:
        yield problem(about, f"it refuses to run: {first_line(error)}", "chown and chmod that, here and on the nodes")
        return
    yield ok(about, "all that it relies on is root's alone, on this machine")
