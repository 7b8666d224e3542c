"""Reading ``spack.lock``: which packages an environment was solved into."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from nearfar.base import NearfarError

from .installed import SpackPackage


def packages(lock: Path, there: Collection[str] = ()) -> list[SpackPackage]:
    """The packages of a lock file: those asked for first, then by name. ``there``: hashes of what is installed.

    Raises ``NearfarError`` where the file is missing or is none of Spack's.
    """
    try:
        content = json.loads(lock.read_text(encoding="utf-8"))
        asked = {root["hash"] for root in content["roots"]}
        found = [_package(digest, spec, asked, there) for digest, spec in content["concrete_specs"].items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NearfarError(f"{lock}: not a lock file of Spack ({error}); remove it and install again") from None
    return sorted(found, key=lambda package: (not package.asked, package.name))


def _package(digest: str, spec: dict[str, object], asked: Collection[str], there: Collection[str]) -> SpackPackage:
    external = spec.get("external")
    prefix = Path(str(external["path"])) if isinstance(external, dict) and external.get("path") else None
    if isinstance(external, dict) and prefix is None:
        prefix = Path(f"module {external.get('module')}")
    is_there = isinstance(external, dict) or digest in there
    return SpackPackage(str(spec["name"]), str(spec["version"]), digest, prefix, digest in asked, is_there)
