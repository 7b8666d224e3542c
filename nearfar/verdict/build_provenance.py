"""Where the programs of a run came from: the way, and each package with version and hash. One file for each environment."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nearfar.base import json_or_none, write_atomically

_SCHEMA = "nearfar-programs/1"


@dataclass(frozen=True)
class SoftwarePackage:
    """A part that the programs were made with. ``hash`` is Spack's, or the build's own; ``prefix`` where an external one
    is installed; both empty where there is none."""

    name: str
    version: str
    hash: str = ""
    prefix: str = ""


@dataclass(frozen=True)
class BuildProvenance:
    """``how``: ``cmake``, ``spack``, ``prefix``, ``container``, or ``named`` (``NEARFAR_PROGRAMS``); ``words`` say it to a
    person; ``folder`` has the programs."""

    how: str
    words: str
    folder: str
    packages: tuple[SoftwarePackage, ...] = ()


def keep(run: Path, partition: str, environ: str, origin: BuildProvenance) -> None:
    """Write it into a run directory."""
    about = {"schema": _SCHEMA, "partition": partition, "environ": environ, **asdict(origin)}
    write_atomically(run / f"programs.{partition}+{environ}.json", json.dumps(about, indent=1) + "\n")


def read(run: Path) -> list[dict[str, Any]]:
    """What ``keep`` wrote into a run directory, by partition and environment; a file that is no such record is left out."""
    records = map(json_or_none, sorted(run.glob("programs.*.json")))
    return [record for record in records if isinstance(record, dict) and record.get("schema") == _SCHEMA]


def is_build(folder: Path) -> bool:
    """Whether ``setup/build`` made the programs of a folder."""
    return (folder.parent / "made-with.json").exists()


def of_build(folder: Path) -> BuildProvenance:
    """Of a build of ``setup/build``, from the account that it left beside its programs' folder."""
    try:
        account = json.loads((folder.parent / "made-with.json").read_text(encoding="utf-8"))
        packages = tuple(SoftwarePackage(**package) for package in account["packages"])
    except (OSError, ValueError, KeyError, TypeError):
        return BuildProvenance("cmake", "built by CMake; with what is not known", str(folder))
    return BuildProvenance("cmake", account["words"], str(folder), packages)
