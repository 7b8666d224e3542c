"""What the system has that Spack need not build, written down as a site's ``packages.yaml``.

Spack detects; this gives it the order that works (compilers first, or Open MPI is dropped without an error), names what its
plain detection leaves out, adds numactl, which Spack cannot detect, and keeps the user's own configuration out of it.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nearfar.base import NearfarError, make_directory, run, say, write_atomically

from .program import Spack

#: Taken as they are: Spack would build them against nothing of the site's.
NAMED = ("hwloc", "cuda")
#: Plain detection finds these too, and they only narrow what the solver may do.
_LEFT_OUT = ("python", "rust", "go", "npm")
_ELSEWHERE = "give --into a directory"
_HEADER = """\
# The packages of this system that Spack uses and does not build; `nearfar spack externals` wrote it. Edit it: versions and
# prefixes are what was found on {host}.
"""


@dataclass(frozen=True)
class Externals:
    """What was found. ``missing``: of what the environment asks for, what Spack would build."""

    file: Path
    found: dict[str, list[str]]
    missing: list[str]


def write(
    spack: Spack, into: Path, mpi: str = "openmpi", cuda_arch: str | None = None, replace: bool = False
) -> Externals:
    """Detect, and write ``into``/packages.yaml. ``mpi``: Spack's name of the MPI to use. No MPI is buildable, found or not.

    Raises ``NearfarError`` where the file is there and ``replace`` was not asked for, or Spack fails.
    """
    file = into / "packages.yaml"
    if file.exists() and not replace:
        raise NearfarError(f"{file}: is there already; --replace writes it anew")
    make_directory(into, _ELSEWHERE)
    packages, known = _detected(spack, mpi)
    if "cuda" in packages:
        packages["cuda"]["externals"] = _toolkits(packages["cuda"].get("externals", []))
    if "numactl" not in packages and (numactl := _numactl()) is not None:
        packages["numactl"] = numactl
    packages.pop("opencl", None)  # a bar on what CUDA provides, which nothing here uses
    packages["mpi"] = {"buildable": False}
    known = {**known, **packages}
    missing = [name for name in (mpi, *NAMED, "numactl") if not known.get(name, {}).get("externals")]
    specs = {
        name: [f"{e['spec']} in {e.get('prefix') or e.get('modules')}" for e in entry["externals"]]
        for name, entry in packages.items()
        if entry.get("externals")
    }
    if cuda_arch:
        packages["all"] = {"variants": [f"cuda_arch={cuda_arch}"]}
    text = yaml.safe_dump({"packages": packages}, sort_keys=True)
    write_atomically(file, _HEADER.format(host=os.uname().nodename) + text, _ELSEWHERE)
    return Externals(file, specs, missing)


def _detected(spack: Spack, mpi: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What Spack's detection writes into a user's folder of our own, and what its whole configuration then knows."""
    exclude = [word for name in _LEFT_OUT for word in ("--exclude", name)]
    if (
        not Path(spack.environ.get("SPACK_USER_CACHE_PATH") or "~/.spack")
        .expanduser()
        .joinpath("cache/indices")
        .exists()
    ):
        say("a user's first spack command indexes all recipes, which may take two minutes")
    with tempfile.TemporaryDirectory(prefix="nearfar-externals.") as folder:
        env = _isolated(spack, Path(folder))
        for arguments in (
            ["compiler", "find", "--scope", "user"],
            ["external", "find", "--scope", "user", "--not-buildable", mpi, *NAMED],
            ["external", "find", "--scope", "user", *exclude],
        ):
            say(f"spack {' '.join(arguments)}")
            spack.run(arguments, f"`spack {' '.join(arguments[:2])}` failed", env=env)
        file = Path(folder) / "packages.yaml"
        packages = _packages(file.read_text(encoding="utf-8")) if file.exists() else {}
        known = spack.run(["config", "get", "packages"], "Spack's configuration cannot be read", env=env)
        return packages, _packages(known.stdout)


def _packages(text: str) -> dict[str, Any]:
    return (yaml.safe_load(text) or {}).get("packages") or {}


def _isolated(spack: Spack, folder: Path) -> dict[str, str | None]:
    """What makes Spack write into ``folder`` where it would write into ~/.spack, and read no packages from there."""
    env: dict[str, str | None] = {"SPACK_USER_CONFIG_PATH": str(folder), "PATH": _path(spack.environ)}
    if "SPACK_DISABLE_LOCAL_CONFIG" in spack.environ:
        # With it Spack has no user's configuration to write to; without it there is the system's to keep away.
        return {**env, "SPACK_DISABLE_LOCAL_CONFIG": None, "SPACK_SYSTEM_CONFIG_PATH": str(folder / "none")}
    users = Path(spack.environ.get("SPACK_USER_CONFIG_PATH") or "~/.spack").expanduser()
    for file in users.glob("*.yaml"):
        if file.stem not in ("packages", "compilers"):
            shutil.copyfile(file, folder / file.name)
    return env


def _path(environ: Mapping[str, str]) -> str:
    """The PATH, and where CUDA lies without being on it."""
    roots = [environ.get("CUDA_HOME"), environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return os.pathsep.join([environ.get("PATH", ""), *(f"{root}/bin" for root in roots if root)])


def _toolkits(externals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without prefixes that Spack derived from a link or a wrapper on the PATH: their cuda.h lies in another, or nowhere."""
    kept: dict[Path, dict[str, Any]] = {}
    for external in sorted(externals, key=lambda e: -len(Path(e["prefix"]).resolve().parts)):
        header = Path(external["prefix"], "include", "cuda.h").resolve()
        if header.exists() and Path(external["prefix"]).resolve() in header.parents:
            kept.setdefault(header, external)
    return list(kept.values())


def _numactl() -> dict[str, Any] | None:
    """numactl by its library's header and pkg-config, as an entry of packages.yaml; None where it cannot be built with."""
    version, prefix = "", Path("/usr")
    if shutil.which("pkg-config"):
        asked = run(["pkg-config", "--modversion", "--variable=prefix", "numa"], 10.0).stdout.split()
        version = next((word for word in asked if re.fullmatch(r"\d+(\.\d+)+", word)), "")
        prefix = Path(next((word for word in asked if word.startswith("/")), "/usr"))
    if not version or not (prefix / "include" / "numa.h").exists():
        return None
    return {"buildable": False, "externals": [{"spec": f"numactl@{version}", "prefix": str(prefix)}]}
