"""The kernel's lines as ``/dev/kmsg`` and journald give them, and what of them NVIDIA's driver and the PCI bus wrote.

Only what the kernel itself wrote counts: a user's line in ``/dev/kmsg`` carries another facility, and the name of a program,
which a line may quote, stands never at its beginning.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NearfarError, minute_text, utc_text, utc_time
from nearfar.topology import Gpu, normal_bus_id

#: What a line must hold to be looked at.
WANTED = (b"NVRM:", b"SXid", b"AER:", b"PCIe Bus Error:")
#: Bytes of the kernel's ring that are read at most.
_MOST = 256 << 20
#: So many different lines of a node's GPUs are kept, the newest.
_KEPT = 20
#: Letters of a line that are kept.
_LONGEST = 160
_PCI = r"(?:PCI:)?(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)"
_XID = re.compile(rf"NVRM: Xid \({_PCI}[^)]*\): (?P<number>\d{{1,5}})(?:,\s*(?P<text>.*))?$", re.DOTALL)
_SXID = re.compile(
    rf"(?P<switch>nvidia-nvswitch\d+): SXid \({_PCI}\): (?P<number>\d{{1,6}}),\s*(?P<text>.*)$", re.DOTALL
)
_FALLEN = re.compile(rf"NVRM: (?:The )?(?:NVIDIA )?GPU (?:at )?{_PCI}.*has fallen off the bus", re.DOTALL)
_NOT_INITIALISED = re.compile(rf"NVRM: GPU {_PCI}: (?P<text>RmInitAdapter failed.*)$", re.DOTALL)
_BUS = re.compile(rf"[\w.-]+ {_PCI}: (?P<text>(?:AER: |PCIe Bus Error: ).*)$", re.DOTALL)
_WHOSE = re.compile(r"^pid=(?:'[^']*'|<[^>]*>|[^,]*),\s*(?:name=(?:'[^']*'|<[^>]*>|[^,]*),\s*)?")


@dataclass(frozen=True)
class LogLine:
    """One of the kernel's lines. ``at``: seconds since boot; ``sequence``: its number in ``/dev/kmsg``, -1 from elsewhere."""

    at: float
    text: str
    sequence: int = -1


@dataclass(frozen=True)
class Event:
    """What NVIDIA's driver told of a device. ``kind``: ``xid``, ``sxid``, ``init`` (an adapter that was not initialised).
    ``pci`` as ``0000:1b:00.0``; ``switch``: the kernel's name of an NVSwitch. ``text`` without the program's number and name."""

    kind: str
    pci: str
    number: int
    text: str
    switch: str = ""


#: What ``/dev/kmsg`` holds: the first record, the last, and those that may be the driver's or the bus's, oldest first; None, and why,
#: where it cannot be read.
Ring = tuple[tuple[LogLine, ...] | None, str]


def read_ring(root: Path) -> Ring:
    """Read ``/dev/kmsg``, which never waits."""
    parts, total = [], 0
    try:
        handle = os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while total < _MOST:
                try:
                    parts.append(os.read(handle, 1 << 16))
                except BrokenPipeError:  # overwritten while it was read: the next record follows
                    continue
                except BlockingIOError:
                    break
                if not parts[-1]:
                    break
                total += len(parts[-1])
        finally:
            os.close(handle)
    except OSError as error:
        return None, f"/dev/kmsg cannot be read: {error.strerror}"
    return tuple(from_kmsg(b"".join(parts))), ""


def told_of_gpus(gpus: Iterable[Gpu], root: Path = Path("/")) -> list[str]:
    """What the kernel's log of this boot holds of the driver's errors and of bus errors of these GPUs and the bridges above them: lines
    with the time of the last, the oldest first; in their place a sentence that there are none, or why they cannot be read."""
    lines, why = read_ring(root)
    if lines is None:
        return [f"not read: {why}"]
    booted, known = time.time() - time.monotonic(), list(gpus)
    last, times = dict[str, float](), Counter[str]()
    for at, words in _of_gpus(lines, known):
        last[words], times[words] = at, times[words] + 1
    newest = sorted(last, key=last.__getitem__)[-_KEPT:]
    return [
        f"{minute_text(utc_time(utc_text(booted + last[words])))} UTC {words}{f' ({times[words]} times)' if times[words] > 1 else ''}"
        for words in newest
    ] or ["nothing of its GPUs since the last boot"]


def _of_gpus(lines: Iterable[LogLine], gpus: Iterable[Gpu]) -> Iterator[tuple[float, str]]:
    """The seconds since boot and the words of each line that the driver, or the bus of one of these GPUs, wrote."""
    names = {pci: f"{pci}, above GPU {gpu.index}" for gpu in gpus for pci in gpu.uplinks}
    names |= {gpu.pci: f"GPU {gpu.index} at {gpu.pci}" for gpu in gpus}
    for line in lines:
        if (found := event(line)) is not None:
            number = {"xid": f"Xid {found.number}: ", "sxid": f"SXid {found.number}: "}.get(found.kind, "")
            yield line.at, f"{found.switch or names.get(found.pci, found.pci)}: {number}{found.text}"
        elif (match := _BUS.match(line.text)) is not None and match["pci"].lower() in names:
            yield line.at, f"{names[match['pci'].lower()]}: {match['text'][:_LONGEST]}"


def from_kmsg(data: bytes) -> list[LogLine]:
    """Of records as ``/dev/kmsg`` gives them (``6,339,5140900,-;text``) the first, the last, and those that may be the driver's or the
    bus's. Of all but the kernel's own that may be there is no text; what is no record is passed over."""
    records = data.split(b"\n")
    chosen = [record for record in records if any(word in record for word in WANTED)]
    ends = (next(filter(None, map(_record, order)), None) for order in (records, reversed(records)))
    first, last = ends
    lines = (first, *map(_record, chosen), last)
    return list({line.sequence: line for line in lines if line is not None}.values())


def _record(record: bytes) -> LogLine | None:
    head, mark, text = record.partition(b";")
    parts = head.split(b",")
    if not mark or len(parts) < 3:
        return None
    try:
        priority, sequence, microseconds = (int(part) for part in parts[:3])
    except ValueError:
        return None
    wanted = priority >> 3 == 0 and any(word in text for word in WANTED)
    return LogLine(microseconds / 1e6, readable(text) if wanted else "", sequence)


def from_journal(record: str) -> LogLine | None:
    """One entry of ``journalctl --output=json``; None for what is none, or not the kernel's own."""
    try:
        entry = json.loads(record)
    except ValueError:
        return None
    if not isinstance(entry, dict) or str(entry.get("SYSLOG_FACILITY", "0")) != "0":
        return None
    try:
        at = int(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"]) / 1e6
    except (KeyError, TypeError, ValueError):
        return None
    message = entry.get("MESSAGE")
    if isinstance(message, list):  # what is no text comes as its bytes
        message = bytes(value & 255 for value in message if isinstance(value, int)).decode("utf-8", "replace")
    return LogLine(at, readable(message.encode("utf-8", "replace")) if isinstance(message, str) else "")


def readable(text: bytes) -> str:
    """A message as one line of printable letters. ``/dev/kmsg`` writes others as ``\\x0a``, and stays so."""
    return "".join(c if c.isprintable() else "?" for c in text.decode("utf-8", "replace"))


def event(line: LogLine) -> Event | None:
    """What NVIDIA's driver tells in a line; None where it tells nothing that is counted."""
    for kind, pattern in (("xid", _XID), ("sxid", _SXID), ("fallen", _FALLEN), ("init", _NOT_INITIALISED)):
        match = pattern.match(line.text)
        if match is None:
            continue
        found = match.groupdict()
        try:
            pci = normal_bus_id(found["pci"] if "." in found["pci"] else f"{found['pci']}.0")
        except NearfarError:
            continue
        words = _WHOSE.sub("", found.get("text") or "")[:_LONGEST].strip()
        if kind == "fallen":  # the driver's own words for Xid 79
            return Event("xid", pci, 79, "GPU has fallen off the bus")
        return Event(kind, pci, int(found.get("number") or 0), words, found.get("switch") or "")
    return None


def events(lines: Iterable[LogLine]) -> list[Event]:
    """The events among lines, in their order."""
    return [found for line in lines if line.text and (found := event(line)) is not None]
