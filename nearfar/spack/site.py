"""Where a site keeps Spack's configuration: ``NEARFAR_SPACK_SITE``, or ``site/systems/NAME/`` beside ``NAME.yaml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.sitefile import site_directories


def site_of(environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder that ``NEARFAR_SPACK_SITE`` names, or None. Raises ``NearfarError`` where it is no directory."""
    named = (os.environ if environ is None else environ).get("NEARFAR_SPACK_SITE")
    if not named:
        return None
    if not Path(named).is_dir():
        words = f"`nearfar spack externals --into {named}` makes and fills it"
        raise NearfarError(f"NEARFAR_SPACK_SITE={named}: no such directory; {words}")
    return Path(named).absolute()


def folder_of(system: str, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of Spack configuration of a system: the first of the site's directories that has ``systems/NAME/``.

    Raises ``NearfarError`` where none has it.
    """
    folders = [directory / "systems" / system for directory in site_directories(environ)]
    found = next((folder for folder in folders if folder.is_dir()), None)
    if found is None:
        words = f"`nearfar spack externals --into {folders[0]}` makes and fills it"
        raise NearfarError(f"--system {system}: no {' nor '.join(map(str, folders))}; {words}")
    return found.absolute()
