"""What Spack is to solve for a partition: the checkout's ``spack.yaml`` with absolute paths and this machine's folders."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nearfar.base import NearfarError, places, site_directories
from nearfar.site import Environment

from .program import Spack

#: The environments of the checkout, by whether they have CUDA.
_FILES = {True: "spack.yaml", False: "spack/host/spack.yaml"}
#: What every environment includes last: Spack builds neither MPI nor CUDA.
_SYSTEM = "spack/system/packages.yaml"
#: Another of these on the PATH, and the environment is solved again.
_TOOLS = ("gcc", "mpicc", "nvcc", "lstopo")


@dataclass(frozen=True)
class Manifest:
    """``folder``: the environment's. ``text``: its ``spack.yaml``. ``inputs``: files that the solver reads beside it. ``look``: whether
    the site has no ``packages.yaml``, and what Spack finds on this machine belongs into ``folder``/found."""

    folder: Path
    cuda: bool
    text: str
    inputs: tuple[Path, ...]
    look: bool


def manifest(spack: Spack, environment: Environment, features: Collection[str], system: str) -> Manifest:
    """Of a partition with these features and one of its programming environments. Raises ``NearfarError`` for a slip in a variable."""
    cuda = "gpu" in features and os.environ.get("NEARFAR_CUDA") != "none"
    arch = _architectures(environment) if cuda else ()
    folder = places.spack_directory() / "-".join([system, "cuda" if cuda else "host", *arch])
    site = _site(system)
    named = site is not None and (site / "packages.yaml").exists()
    include = [*([site] if site else []), *([] if named else [folder / "found"]), _ours(_SYSTEM).parent]
    source = _ours(_FILES[cuda])
    whole: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    content = whole["spack"]
    content["include"] = [{"path": str(path)} for path in include]
    content["repos"] = {name: str((source.parent / path).resolve()) for name, path in content["repos"].items()}
    content["develop"]["nearfar"]["path"] = str(folder / "src")
    tree = Path(os.environ.get("NEARFAR_SPACK_TREE") or folder.parent / "tree").expanduser().absolute()
    content["config"] = {"install_tree": {"root": str(tree)}}
    if arch:
        variant = f"cuda_arch={','.join(arch)}"
        content["packages"]["nearfar"] = {"require": [variant]}
        content["packages"]["osu-micro-benchmarks"]["variants"] = [variant]  # counts where OSU has CUDA
    tools = [str(spack.program), *(os.path.realpath(path) for path in map(shutil.which, _TOOLS) if path)]
    text = f"# Made by nearfar with {' '.join(tools)}\n{yaml.safe_dump(whole, sort_keys=False)}"
    inputs = [
        *(sources() / "spack_repo").rglob("*.py"),
        _ours(_SYSTEM),
        *([site / "packages.yaml"] if site and named else []),
    ]
    return Manifest(folder, cuda, text, tuple(inputs), not named)


def sources() -> Path:
    """The directory of the programs' sources. Raises ``NearfarError`` without a checkout."""
    return _ours("src")


def _ours(path: str) -> Path:
    return places.in_checkout(path, "building with Spack")


def _architectures(environment: Environment) -> tuple[str, ...]:
    """What CUDA is compiled for, such as ``("80", "90")``: the environment's word, else ``NEARFAR_CUDA_ARCH``, else empty."""
    named = environment.cuda_arch or re.findall(r"[^;,]+", os.environ.get("NEARFAR_CUDA_ARCH") or "")
    wrong = next((arch for arch in named if not re.fullmatch(r"\d{2,3}[af]?", arch)), None)
    if wrong is not None:
        raise NearfarError(f"cuda_arch '{wrong}': compute capabilities are written 90, or 80,90")
    return tuple(named)


def _site(system: str) -> Path | None:
    """The folder of the site's Spack configuration: ``NEARFAR_SPACK_SITE``, or the first ``systems/SYSTEM/`` that holds a YAML file."""
    named = os.environ.get("NEARFAR_SPACK_SITE")
    if not named:
        folders = (directory.absolute() / "systems" / system for directory in site_directories())
        return next((folder for folder in folders if any(folder.glob("*.yaml"))), None)
    if not Path(named).is_dir():
        remedy = f"`nearfar spack externals --into {named}` makes and fills it"
        raise NearfarError(f"NEARFAR_SPACK_SITE={named}: no such directory; {remedy}")
    return Path(named).absolute()
