"""The pack's environment, staged: everything that Spack reads and writes lies in one folder under ``build/spack/``.

The checkout's ``spack.yaml`` is copied there with absolute paths, and so are the sources of the programs, because Spack
leaves links in the sources that it develops. The folder's name says from what the environment was made.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nearfar.base import CHECKOUT, NearfarError, cannot_write, make_directory, state_directory, write_atomically

from .found import Spack

#: The environments of the checkout, by whether they have CUDA.
ENVIRONMENTS = {True: Path("spack.yaml"), False: Path("spack", "host", "spack.yaml")}
#: The programs' sources in the checkout, and the recipe among them.
SOURCES = Path("src")
RECIPE = Path("src", "spack_repo")
_SKIPPED = ("spack_repo", "__pycache__")


@dataclass(frozen=True)
class Wanted:
    """What an installation is made of.

    ``cuda_arch``: compute capabilities such as ``90`` or ``80,90``. ``site``: a folder of Spack configuration.
    ``mirror``: a folder or URL. ``tree``: where packages are installed, shared by every environment.
    """

    cuda: bool
    cuda_arch: str | None = None
    site: Path | None = None
    mirror: str | None = None
    tree: Path | None = None

    def __post_init__(self) -> None:
        """Raises ``NearfarError`` for what Spack would only complain about after a minute, and darkly."""
        if self.cuda_arch and not re.fullmatch(r"\d{2,3}[af]?(,\d{2,3}[af]?)*", self.cuda_arch):
            raise NearfarError(f"cuda_arch '{self.cuda_arch}': compute capabilities are written 90, or 80,90")
        if self.mirror and "://" not in self.mirror and not Path(self.mirror).expanduser().is_dir():
            raise NearfarError(f"{self.mirror}: no such directory; `nearfar spack mirror {self.mirror}` makes a mirror")

    @property
    def install_tree(self) -> Path:
        """``tree``, ``NEARFAR_SPACK_TREE``, or ``build/spack/tree``."""
        return (self.tree or Path(os.environ.get("NEARFAR_SPACK_TREE") or base() / "tree")).expanduser().absolute()


def base() -> Path:
    """Where staged environments and, unless told otherwise, installed packages lie."""
    return state_directory() / "build" / "spack"


def text(wanted: Wanted, folder: Path, checkout: Path = CHECKOUT) -> str:
    """The ``spack.yaml`` of a staged environment: the checkout's, with absolute paths and this machine's folders."""
    source = checkout / ENVIRONMENTS[wanted.cuda]
    whole: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    content = whole["spack"]
    content["repos"] = {name: str((source.parent / path).resolve()) for name, path in content["repos"].items()}
    content["develop"]["nearfar"]["path"] = str(folder / "src")
    content["include"] = [{"path": str(wanted.site)}] if wanted.site else []
    content["config"] = {"install_tree": {"root": str(wanted.install_tree)}}
    if wanted.mirror:
        content["mirrors"] = {"nearfar": _url(wanted.mirror)}
    if wanted.cuda and wanted.cuda_arch:
        packages = content["packages"]
        packages["nearfar"] = {"require": [f"cuda_arch={wanted.cuda_arch}"]}
        # A preference, which counts where OSU has CUDA; the site's own under `all` would be joined to one there.
        packages["osu-micro-benchmarks"]["variants"] = [f"cuda_arch={wanted.cuda_arch}"]
    return yaml.safe_dump(whole, sort_keys=False)


def _url(mirror: str) -> str:
    return mirror if "://" in mirror else f"file://{Path(mirror).expanduser().absolute()}"


def key(spack: Spack, wanted: Wanted, checkout: Path = CHECKOUT) -> str:
    """Twelve hexadecimal digits that change with whatever the solver sees: the environment, the recipe, the site's folder,
    Spack's version and its own configuration. Not with the programs' sources: those are built again, not solved again."""
    digest = hashlib.sha256()
    digest.update(f"{spack.version}\n{spack.root}\n{text(wanted, Path('.'), checkout)}".encode())
    for path in _configuration(spack, wanted, checkout):
        digest.update(f"{path}\n".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _configuration(spack: Spack, wanted: Wanted, checkout: Path) -> Iterator[Path]:
    yield from sorted((checkout / RECIPE).rglob("*.py"))
    yield from sorted((checkout / RECIPE).rglob("*.yaml"))
    folders = [spack.root / "etc" / "spack", spack.root / "etc" / "spack" / "site"]
    if "SPACK_DISABLE_LOCAL_CONFIG" not in spack.environ:
        folders += [
            Path(spack.environ.get(name) or place).expanduser()
            for name, place in (("SPACK_USER_CONFIG_PATH", "~/.spack"), ("SPACK_SYSTEM_CONFIG_PATH", "/etc/spack"))
        ]
    for folder in [*([wanted.site] if wanted.site else []), *folders]:
        yield from sorted(path for path in folder.glob("*.yaml") if path.is_file())


def sources_hash(checkout: Path = CHECKOUT) -> str:
    """Changes with any file that the programs are built from."""
    digest = hashlib.sha256()
    for name in _sources(checkout / SOURCES):
        digest.update(f"{name}\0".encode() + (checkout / SOURCES / name).read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(top: Path) -> list[Path]:
    """The files below ``top``, relative; not the recipe, nor the links that Spack leaves (``build-…``)."""
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith("build-")]
        found += [(Path(folder) / name).relative_to(top) for name in files]
    return sorted(found)


def stage(wanted: Wanted, folder: Path, checkout: Path = CHECKOUT) -> None:
    """Write ``folder``/spack.yaml if it is not there, and bring ``folder``/src up to the checkout's sources.

    Files that did not change stay untouched: Spack compiles again what is newer than its last build.
    """
    make_directory(folder)
    if not (folder / "spack.yaml").exists():
        write_atomically(folder / "spack.yaml", text(wanted, folder, checkout))
    source, target = checkout / SOURCES, folder / "src"
    present = _sources(source)
    try:
        for name in _sources(target):
            if name not in present:
                (target / name).unlink()
        for name in present:
            content = (source / name).read_bytes()
            if not (target / name).exists() or (target / name).read_bytes() != content:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / name, target / name)
    except OSError as error:
        raise cannot_write(target, error) from None


def forget_build(folder: Path) -> None:
    """Remove what a build that failed has configured: Spack keeps it for the sources that it develops, and CMake would
    believe its cache (an MPI not found) the next time. Spack's own logs stay."""
    for stage in (folder / "src").glob("build-*"):
        for build in stage.glob("spack-build-*"):
            if build.is_dir() and not build.is_symlink():
                shutil.rmtree(build, ignore_errors=True)
