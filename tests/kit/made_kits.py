"""A kit of the emulated programs (``src/tests/emulated_cuda``), started on this machine with two GPUs that there are not."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from nearfar.kit import packing
from tests.support.emulated import FIRST_BUS, Emulated

#: What the driver says of itself where it is new enough.
DRIVER = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Wed Sep 17 10:00:00 UTC 2025\n"


@dataclass
class MadeKit:
    """An unpacked kit; ``gpus`` is how many the emulation shows."""

    folder: Path
    emulated: Emulated
    gpus: int = 2
    driver: str = DRIVER

    def run(self, *words: str, settings: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Start ``kit/run`` in the folder above it."""
        fast = "to_gpu=2e10,to_host=2e10,peer=4e10,nvlinks=18"
        env = (
            self.emulated.environment(self.gpus, ",".join(filter(None, [fast, settings])))
            if self.gpus
            else dict(os.environ)
        )
        root = self.folder / "machine"
        self._make_machine(root)
        env |= {"NEARFAR_TEST_ROOT": str(root)} | environment
        return subprocess.run(
            ["sh", str(self.folder / "kit" / "run"), *words], cwd=self.folder, env=env, capture_output=True, text=True, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def _make_machine(self, root: Path) -> None:
        shutil.rmtree(root, ignore_errors=True)
        (root / "sys/bus/pci/devices").mkdir(parents=True)
        for gpu in range(self.gpus):
            device = root / f"sys/bus/pci/devices/0000:{FIRST_BUS + gpu:02x}:00.0"
            device.mkdir()
            for name, text in {"vendor": "0x10de", "class": "0x030200", "numa_node": "-1"}.items():
                (device / name).write_text(text + "\n")
        if self.driver:
            (root / "proc/driver/nvidia").mkdir(parents=True)
            (root / "proc/driver/nvidia/version").write_text(self.driver)

    def replace(self, name: str, content: str) -> None:
        """Put another file into the kit, with its checksum."""
        path = self.folder / "kit" / name
        path.write_text(content)
        sums = self.folder / "kit" / "SHA256SUMS"
        line = f"{sha256(content.encode()).hexdigest()}  {name}"
        sums.write_text(re.sub(rf"(?m)^\w+  {re.escape(name)}$", line, sums.read_text()))


def pack_emulated(emulated: Emulated, folder: Path) -> Path:
    """A kit's archive of the emulated programs."""
    programs = folder / "programs"
    programs.mkdir()
    shutil.copy(emulated.programs / "emulated-copy", programs / "nearfar-copy")
    return packing.pack(programs, folder / "kit.tar.gz").file


def unpacked(archive: Path, folder: Path, emulated: Emulated) -> MadeKit:
    """The archive's kit in a folder of its own."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["tar", "-C", str(folder), "-xzf", str(archive)], check=True)
    return MadeKit(folder, emulated)


def contents(result: Path) -> dict[str, bytes]:
    """The files of a kit's result, by name."""
    with tarfile.open(result) as archive:
        found = {entry.name: archive.extractfile(entry) for entry in archive if entry.isfile()}
        return {name.removeprefix("result/"): stream.read() for name, stream in found.items() if stream is not None}


def forged(path: Path, files: Mapping[str, bytes], sums: bool = True) -> Path:
    """A result file of these contents, as somebody would make one: with checksums made anew (``sums``) or as they were."""
    made = dict(files)
    if sums:
        listed = {name: content for name, content in made.items() if name != "SHA256SUMS"}
        made["SHA256SUMS"] = "".join(
            f"{sha256(c).hexdigest()}  {name}\n" for name, c in sorted(listed.items())
        ).encode()
    with tarfile.open(path, "w:gz") as archive:
        for name, content in made.items():
            entry = tarfile.TarInfo(f"result/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path
