"""A small Linux guest under QEMU's software emulation, with as many NUMA nodes as a test wants.

Placement, binding and topology are those of a real kernel there; speed is not, so nothing is timed in it.
A guest boots, runs its commands and powers off in a few seconds.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("NEARFAR_STATE") or CHECKOUT) / "build" / "guest"
#: Debian's kernels that boot from built-in drivers alone; the first is the smallest.
KERNEL_PACKAGES = ["linux-image-cloud-amd64", "linux-image-amd64"]

INIT = """#!/bin/sh
export PATH=/bin HOME=/ LD_LIBRARY_PATH=/lib
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ulimit -l unlimited
{commands}
poweroff -f
"""


class NoGuest(Exception):
    """No guest can be had on this machine; one line that says why."""


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node of a guest: its CPUs as a Linux list ('' for none) and its memory in MiB (0 for none)."""

    cpus: str
    memory: int


@dataclass
class Guest:
    """What a guest is made of. ``files`` maps a path in the guest to one here; a program's libraries come with it."""

    nodes: list[NumaNode]
    sockets: int
    files: dict[str, Path] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)

    def run(self, commands: list[str], folder: Path, seconds: float = 300) -> dict[str, tuple[int, str]]:
        """Boot, run each shell command, power off: command → (exit status, its standard output and error).

        Raises ``NoGuest`` where QEMU, busybox or a kernel is missing, AssertionError when the guest does not come to
        its end within ``seconds``.
        """
        qemu = shutil.which("qemu-system-x86_64")
        if not qemu:
            raise NoGuest("qemu-system-x86_64 is not installed")
        initrd = folder / "initrd.gz"
        initrd.write_bytes(gzip.compress(self._initrd(commands), compresslevel=1))
        console = folder / "console.txt"
        command = [qemu, "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-nographic", "-no-reboot"]
        command += ["-nodefaults", "-serial", f"file:{console}", *self._machine(), *self.devices]
        command += ["-kernel", str(kernel()), "-initrd", str(initrd)]
        command += ["-append", "console=ttyS0 quiet loglevel=0 panic=-1 mitigations=off random.trust_cpu=on"]
        # A default that nothing here asks for: huge pages of 2 MiB are to be asked for by their size.
        command[-1] += " default_hugepagesz=1G hugepagesz=2M"
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=True)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the guest did not end in {seconds} s:\n{tail(console)}") from None
        except subprocess.CalledProcessError as error:
            raise AssertionError(f"qemu failed: {error.stderr.decode(errors='replace')}") from None
        said = console.read_text(errors="replace").replace("\r", "")
        return {command: outcome(said, number) for number, command in enumerate(commands)}

    def _machine(self) -> list[str]:
        cpus = sum(len(cpu_list(node.cpus)) for node in self.nodes)
        words = ["-smp", f"{cpus},sockets={self.sockets}", "-m", str(sum(node.memory for node in self.nodes))]
        for index, node in enumerate(self.nodes):
            numa = f"node,nodeid={index}" + "".join(f",cpus={part}" for part in node.cpus.split(",") if part)
            if node.memory:
                words += ["-object", f"memory-backend-ram,id=m{index},size={node.memory}M"]
                numa += f",memdev=m{index}"
            words += ["-numa", numa]
        return words

    def _initrd(self, commands: list[str]) -> bytes:
        busybox = shutil.which("busybox")
        if not busybox:
            raise NoGuest("busybox is not installed")
        applets = ["sh", "mount", "mkdir", "ls", "cat", "grep", "poweroff", "taskset", "dd", "env", "timeout", "cp"]
        script = "\n".join(
            f"echo '=== {number}'; {command} 2>&1; echo \"=== {number} ended $?\""
            for number, command in enumerate(commands)
        )
        entries: dict[str, tuple[int, bytes]] = dict.fromkeys(("bin", "lib", "proc", "sys", "dev", "tmp"), (16877, b""))
        entries["init"] = (0o100755, INIT.format(commands=script).encode())
        entries.update({f"bin/{applet}": (0o120777, b"busybox") for applet in applets})
        for path, source in {"bin/busybox": Path(busybox), **self.files}.items():
            for parent in reversed(Path(path.lstrip("/")).parents[:-1]):
                entries.setdefault(str(parent), (0o040755, b""))
            entries[path.lstrip("/")] = (0o100755, source.read_bytes())
            for library in libraries(source):
                # The dynamic loader is asked for by its full path, all others by LD_LIBRARY_PATH.
                place = str(library).lstrip("/") if library.name.startswith("ld-linux") else f"lib/{library.name}"
                entries.setdefault(str(Path(place).parent), (0o040755, b""))
                entries[place] = (0o100755, library.read_bytes())
        return cpio(entries)


def outcome(said: str, number: int) -> tuple[int, str]:
    """The exit status and output of the command of that number, out of the guest's console."""
    match = re.search(rf"=== {number}\n(.*?)=== {number} ended (\d+)\n", said, re.S)
    assert match, f"the guest ended before its command {number}:\n{said[-2000:]}"
    return int(match[2]), match[1]


def tail(path: Path) -> str:
    """The end of a file, for a message."""
    return path.read_text(errors="replace")[-2000:] if path.exists() else ""


def cpu_list(text: str) -> list[int]:
    """The CPUs of a Linux list: '0-1,3' is [0, 1, 3]."""
    spans = [part.split("-") for part in text.split(",") if part]
    return [cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)]


def libraries(program: Path) -> list[Path]:
    """The shared libraries of a program or library; none for a static one."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    return [Path(path) for path in re.findall(r"(?:=> )?(/\S+) \(0x", said)]


def cpio(entries: dict[str, tuple[int, bytes]]) -> bytes:
    """An archive in cpio's newc format, which the kernel unpacks: path → (mode, content or a link's target)."""
    out = bytearray()
    for number, (path, (mode, content)) in enumerate([*sorted(entries.items()), ("TRAILER!!!", (0, b""))], start=1):
        name = path.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        out += b"070701" + b"".join(b"%08x" % value for value in fields) + name
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def kernel() -> Path:
    """A kernel's path: fetched once from Debian's archive, else this machine's own. Raises ``NoGuest``."""
    kept = CACHE / "vmlinuz"
    if kept.exists():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    for package in KERNEL_PACKAGES:
        if fetch_kernel(package, kept):
            return kept
    own = [path for path in sorted(Path("/boot").glob("vmlinuz-*"), reverse=True) if os.access(path, os.R_OK)]
    if own:
        return own[0]
    raise NoGuest("no kernel: apt-get download of linux-image-amd64 failed and /boot has none")


def fetch_kernel(package: str, destination: Path) -> bool:
    """Take the kernel out of the Debian package that ``package`` depends on; False when it cannot be had."""
    if not (shutil.which("apt-get") and shutil.which("apt-cache") and shutil.which("dpkg")):
        return False
    said = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True).stdout
    image = re.search(r"Depends: (linux-image-\S+)", said)
    if not image:
        return False
    fetched = subprocess.run(["apt-get", "-q", "download", image[1]], cwd=CACHE, capture_output=True, timeout=300)
    packages = sorted(CACHE.glob(f"{image[1]}_*.deb"))
    if fetched.returncode or not packages:
        return False
    unpacked = CACHE / "unpacked"
    subprocess.run(["dpkg", "-x", str(packages[-1]), str(unpacked)], check=True)
    images = sorted((unpacked / "boot").glob("vmlinuz-*"))
    fresh = destination.with_suffix(f".{os.getpid()}")
    shutil.copy(images[-1], fresh)
    fresh.replace(destination)
    shutil.rmtree(unpacked)
    packages[-1].unlink()
    return True
