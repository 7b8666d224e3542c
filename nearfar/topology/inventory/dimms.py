"""The peak of host memory from the DIMMs that the firmware lists (SMBIOS type 17), which only root may read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.topology import Node, UnknownPeakError, channels_in_words, memory_devices, memory_peaks

_TABLE = "sys/firmware/dmi/tables/DMI"
#: Where the kernel has no whole table (before 4.2): each structure by itself.
_ENTRIES = "sys/firmware/dmi/entries"


def with_memory_peaks(node: Node, root: Path) -> Node:
    """The node with the peak of each NUMA node's memory, and a note of what it is from, or why it is not known."""
    try:
        if node.virtual_machine:
            raise UnknownPeakError("the DIMMs that a virtual machine shows are not its host's")
        devices = memory_devices(_read(root))
        peaks, channels = memory_peaks(node, devices), channels_in_words(node, devices)
    except (UnknownPeakError, NearfarError) as why:
        return replace(node, notes=(*node.notes, f"the peak of host memory is not known: {why}"))
    numa = tuple(replace(memory, peak=peaks.get(memory.index)) for memory in node.numa_nodes)
    note = f"the peak of host memory is that of {channels}, as the firmware lists them"
    return replace(node, numa_nodes=numa, notes=(*node.notes, note))


def _read(root: Path) -> bytes:
    path = root / _TABLE
    try:
        return path.read_bytes()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unread(path, error) from None
    entries = sorted((root / _ENTRIES).glob("17-*/raw"))
    if not entries:
        raise UnknownPeakError(f"there is no SMBIOS table (/{_TABLE})")
    try:
        return b"".join(entry.read_bytes() for entry in entries)
    except OSError as error:
        raise _unread(entries[0], error) from None


def _unread(path: Path, error: OSError) -> UnknownPeakError:
    if isinstance(error, PermissionError):
        return UnknownPeakError(f"only root may read {path}")
    return UnknownPeakError(f"{path} cannot be read: {error.strerror}")
