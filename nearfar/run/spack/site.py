"""Where a site keeps Spack's configuration: ``NEARFAR_SPACK_SITE``, or ``site/systems/NAME/`` beside ``NAME.yaml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nearfar.base import NearfarError, site_directories


def site_of(environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder that ``NEARFAR_SPACK_SITE`` names, or None. Raises ``NearfarError`` where it is no directory."""
    named = (os.environ if environ is None else environ).get("NEARFAR_SPACK_SITE")
    if not named:
        return None
    if not Path(named).is_dir():
        words = f"`nearfar spack externals --into {named}` makes and fills it"
        raise NearfarError(f"NEARFAR_SPACK_SITE={named}: no such directory; {words}")
    return Path(named).absolute()


def own_folder(system: str, environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder of Spack configuration of a system: the first ``systems/NAME/`` of the site's directories that holds a YAML
    file; None where none does."""
    return next((folder.absolute() for folder in _folders(system, environ) if any(folder.glob("*.yaml"))), None)


def folder_of(system: str, environ: Mapping[str, str] | None = None) -> Path:
    """The same, for who asks for it by name. Raises ``NearfarError`` where there is none."""
    found = own_folder(system, environ)
    if found is None:
        folders = _folders(system, environ)
        words = f"`nearfar spack externals --into {folders[0]}` makes and fills it"
        raise NearfarError(f"--system {system}: no YAML file in {' nor '.join(map(str, folders))}; {words}")
    return found


def _folders(system: str, environ: Mapping[str, str] | None) -> list[Path]:
    return [directory / "systems" / system for directory in site_directories(environ)]
