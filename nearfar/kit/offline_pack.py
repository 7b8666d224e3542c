"""The archive that sets nearfar up without a network: the checkout's sources, and in ``wheels/`` the Python packages it needs.

``./validate --offline ARCHIVE`` and the Ansible role ``pack`` read it. Compilers and hwloc are the system's; they are not in it.
"""

from __future__ import annotations

import io
import platform
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from nearfar.base import NearfarError, places, process, write_atomically

#: The Pythons whose packages are in the archive: Debian 12 and RHEL 9 have 3.11 (RHEL 9 3.12 too), Ubuntu 22.04 3.10, Ubuntu 24.04 3.12,
#: SLES 15 3.11, Debian 13 3.13.
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
#: Of ``setup/locks/``: nearfar's own needs, and CMake for where the system's is too old.
_LOCKS = ("base", "cmake")
_SECONDS = 900.0


def write(output: Path) -> Path:
    """Download the wheels for each of ``PYTHONS``, and write them with the sources. Raises ``NearfarError`` where pip or git cannot."""
    archive = places.in_checkout("ansible/roles/nearfar/files/make_archive.sh", "nearfar kit --with-pack")
    with tempfile.TemporaryDirectory(prefix="nearfar-pack-") as place:
        sources, wheels = Path(place, "sources.tar.gz"), Path(place, "wheels")
        _run(["sh", str(archive), str(places.CHECKOUT), str(sources)], "the sources")
        for python in PYTHONS:
            _download(python, wheels)
        data = _joined(sources, sorted(wheels.iterdir()))
    write_atomically(output, data, elsewhere="name with --output a file in a directory")
    return output


def _download(python: str, wheels: Path) -> None:
    own = platform.machine()
    platforms = [f"manylinux2014_{own}", f"manylinux_2_17_{own}", f"manylinux_2_28_{own}"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.writelines(_locked(python))
        lock.flush()
        _run(
            [
                sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-input", "--only-binary=:all:",
                "--no-deps", "--require-hashes", "--implementation", "cp", "--python-version", python,
                *(word for name in platforms for word in ("--platform", name)), "-d", str(wheels), "-r", lock.name,
            ],
            f"the packages of Python {python}",
        )  # fmt: skip


def _locked(python: str) -> list[str]:
    """The locked packages of this Python, without conditions: pip reads those by the Python that runs it."""
    from pip._vendor.packaging.markers import Marker

    text = "".join(
        places.in_checkout(f"setup/locks/{name}.txt", "nearfar kit --with-pack").read_text() for name in _LOCKS
    )
    entries = [
        re.fullmatch(r"([^ ;]+)(?: ; (.*?))?( \\\n.*)", entry, re.S) for entry in re.split(r"(?m)^(?=\w)", text)[1:]
    ]
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return [
        entry[1] + entry[3] for entry in entries if entry and (not entry[2] or Marker(entry[2]).evaluate(environment))
    ]


def _run(command: list[str], what: str) -> None:
    done = process.run(command, _SECONDS)
    if done.returncode:
        raise NearfarError(f"{what} cannot be had: {done.last_line or done.returncode}")


def _joined(sources: Path, wheels: Iterable[Path]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(sources) as checkout, tarfile.open(fileobj=whole, mode="w:gz", compresslevel=1) as archive:
        for entry in checkout:
            archive.addfile(entry, checkout.extractfile(entry) if entry.isfile() else None)
        for wheel in wheels:
            archive.add(wheel, f"wheels/{wheel.name}", filter=_plain)
    return whole.getvalue()


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry
