"""Reading ``spack.lock``: what an environment was solved into."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError
from nearfar.verdict import SoftwarePackage


@dataclass(frozen=True)
class SpackLock:
    """``packages``: those asked for first, then by name; ``prefix`` where it is the system's own, which Spack uses and does not
    build. ``mpi``: the name of the package that is the programs' MPI, None where they have none."""

    version: str
    packages: tuple[SoftwarePackage, ...]
    mpi: str | None


def read(file: Path) -> SpackLock:
    """Raises ``NearfarError`` where the file is missing or is none of Spack's."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        asked = {root["hash"] for root in content["roots"]}
        specs = sorted(content["concrete_specs"].items(), key=lambda item: (item[0] not in asked, item[1]["name"]))
        packages = tuple(SoftwarePackage(str(s["name"]), str(s["version"]), digest, _prefix(s)) for digest, s in specs)
        dependencies = [d for _, spec in specs for d in spec.get("dependencies", [])]
        mpi = next((str(d["name"]) for d in dependencies if "mpi" in d["parameters"].get("virtuals", ())), None)
        return SpackLock(str(content["spack"]["version"]), packages, mpi)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise NearfarError(f"{file}: not a lock file of Spack ({error}); remove it and run again") from None


def _prefix(spec: dict[str, Any]) -> str:
    external = spec.get("external")
    return str(external.get("path") or f"module {external.get('module')}") if external else ""
