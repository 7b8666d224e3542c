"""Making a kit: the programs with their libraries, the questions as lines, the shell script, and checksums, in one archive.

The archive's folder ``kit/`` has ``run``, ``questions.txt``, ``kit.txt``, ``README.txt``, ``SHA256SUMS``, ``bin/`` and ``lib/``.
"""

from __future__ import annotations

import gzip
import io
import platform
import re
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nearfar import __version__
from nearfar.base import NearfarError, places, process, write_atomically
from nearfar.question import CELLS, LEVELS, QUICK, questions

LSTOPO = "lstopo-no-graphics"
#: The oldest driver that runs programs of a major version of CUDA (NVIDIA, CUDA toolkit release notes, "CUDA Driver").
_OLDEST_DRIVER = {12: 525, 13: 580}
#: An archive that is not sent by mail is of no use.
LARGEST = 64 * 2**20
#: The C library and what belongs to it is every system's own.
_GLIBC = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|mvec))\.so.*")
_SECONDS = 30.0


@dataclass(frozen=True)
class Packed:
    """A kit as it was written. ``glibc`` is the oldest that it runs with, ``cuda`` the version that its programs have linked in (empty:
    they measure no GPU), ``driver`` the oldest NVIDIA driver's major version."""

    file: Path
    size: int
    architecture: str
    glibc: str
    cuda: str
    driver: int


def pack(programs: Path, output: Path) -> Packed:
    """Write the kit of the program in a folder (``setup/build_in_debian11`` makes one, ``build/bin`` is one).

    Raises ``NearfarError`` where it or lstopo is absent, or the archive is larger than ``LARGEST``.
    """
    binaries = {f"bin/{CELLS}": _program(programs), "bin/lstopo": _lstopo(programs)}
    for library in _libraries(programs, list(binaries.values())):
        binaries[f"lib/{library.name}"] = library
    contents = {name: path.read_bytes() for name, path in binaries.items()}
    cuda = _cuda(binaries[f"bin/{CELLS}"], [path for name, path in binaries.items() if name.startswith("lib/")])
    glibc = _glibc(contents)
    driver = _OLDEST_DRIVER.get(int(cuda.partition(".")[0] or 0), 0)
    about = {
        "version": __version__, "architecture": platform.machine(), "glibc": glibc, "cuda": cuda or "none", "driver": str(driver),
    }  # fmt: skip
    contents["kit.txt"] = "".join(f"{key}={value}\n" for key, value in about.items()).encode()
    contents["questions.txt"] = question_lines().encode()
    for name in ("run", "README.txt"):
        contents[name] = (places.KIT_FILES / name).read_bytes()
    sums = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    contents["SHA256SUMS"] = sums.encode()
    archive = _archive(contents)
    if len(archive) > LARGEST:
        raise NearfarError(
            f"{output}: the kit has {len(archive) / 2**20:.0f} MiB, more than {LARGEST // 2**20}: strip the programs"
        )
    write_atomically(output, archive, elsewhere="name with --output a file in a directory")
    return Packed(output, len(archive), about["architecture"], glibc, cuda, driver)


def question_lines() -> str:
    """The questions that a kit asks, one a line: levels, check, options."""
    lines = []
    for question in questions():
        if question.in_kit and question.levels and question.program == CELLS:
            levels = [level for level in LEVELS if level in question.levels]
            levels += [QUICK] if question.quick_kit else []
            lines.append(f"{' '.join(levels)}|{question.name}|{' '.join(question.options)}\n")
    return "".join(lines)


def _program(folder: Path) -> Path:
    path = folder / CELLS
    if not path.is_file():
        brings = "setup/build brings it, or name another folder" if places.CHECKOUT else "name the folder of built ones"
        raise NearfarError(f"{path}: no such program; {brings} with --programs")
    return path


def _lstopo(folder: Path) -> Path:
    beside = folder / LSTOPO
    program = beside if beside.is_file() else shutil.which(LSTOPO)
    if program is None:
        raise NearfarError(f"no {LSTOPO} in {folder} or on the PATH; install hwloc 2: ./validate --setup-only")
    return Path(program)


def _libraries(folder: Path, programs: list[Path]) -> list[Path]:
    """What the programs load but for the C library: from their folder where it has any, else as the linker finds it here."""
    beside = sorted(path for path in folder.glob("lib*.so*") if path.is_file())
    if beside:
        return beside
    libraries: dict[str, Path] = {}
    for program in programs:
        output = process.run(["ldd", str(program)], _SECONDS).stdout
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", output, re.M):
            if not _GLIBC.fullmatch(name):
                libraries[name] = Path(path)
    return [libraries[name].with_name(name) for name in sorted(libraries)]


def _cuda(program: Path, libraries: list[Path]) -> str:
    folders = ":".join(sorted({str(path.parent) for path in libraries}))
    output = process.run([str(program), "--version"], _SECONDS, env={"LD_LIBRARY_PATH": folders}).stdout
    match = re.search(r"\(CUDA ([\d.]+)\)", output)
    return match[1] if match else ""


def _glibc(contents: Mapping[str, bytes]) -> str:
    """The newest version of glibc's symbols that any of the files asks for."""
    asked = {(int(a), int(b)) for content in contents.values() for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", content)}
    return "{}.{}".format(*max(asked, default=(0, 0)))


def _archive(contents: Mapping[str, bytes]) -> bytes:
    """The same contents give the same bytes."""
    whole = io.BytesIO()
    with gzip.GzipFile(fileobj=whole, mode="wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(f"kit/{name}")
            entry.size = len(content)
            entry.mode = 0o755 if name == "run" or name.startswith(("bin/", "lib/")) else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()
