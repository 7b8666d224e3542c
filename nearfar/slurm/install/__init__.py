"""What a site installs: nightly runs, ``act``, the health check, prolog and epilog; their files, timers and directories.

Needs: base, slurm.controller, slurm.health, slurm.results.
"""

from __future__ import annotations

from . import as_installed, directories, install, known_names, manifest, next_steps, slurm_conf
from .manifest import InstalledPart, InstallManifest
from .options import (
    COLLECTED,
    FAIL,
    NOTE,
    ON_NODES,
    PARTS,
    TIMERS,
    InstallOptions,
    again,
    search_path,
    slurm_directory,
    surroundings,
)
from .rendering import InstalledFile, digest, rendered

__all__ = [
    "COLLECTED",
    "FAIL",
    "NOTE",
    "ON_NODES",
    "PARTS",
    "TIMERS",
    "InstallManifest",
    "InstallOptions",
    "InstalledFile",
    "InstalledPart",
    "again",
    "as_installed",
    "digest",
    "directories",
    "install",
    "known_names",
    "manifest",
    "next_steps",
    "rendered",
    "search_path",
    "slurm_conf",
    "slurm_directory",
    "surroundings",
]
