"""Where a site keeps Spack's configuration for one of its systems: ``site/systems/NAME/``, beside ``NAME.yaml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nearfar.errors import NearfarError
from nearfar.sitefile import site_directories


def folder_of(system: str | None, environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder of Spack configuration that counts: ``NEARFAR_SPACK_SITE``, else the system's; None where neither is.

    Raises ``NearfarError`` where the variable names no directory.
    """
    named = (os.environ if environ is None else environ).get("NEARFAR_SPACK_SITE")
    if named:
        if not Path(named).is_dir():
            words = f"`nearfar spack externals --into {named}` makes and fills it"
            raise NearfarError(f"NEARFAR_SPACK_SITE={named}: no such directory; {words}")
        return Path(named).absolute()
    if system is None:
        return None
    folders = [directory / "systems" / system for directory in site_directories(environ)]
    return next((folder.absolute() for folder in folders if any(folder.glob("*.yaml"))), None)
