"""SMBIOS tables made by hand, structure by structure, as the specification (DMTF DSP0134) lays them out."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.topology import MemoryDevice

KINDS = {"DDR2": 0x13, "DDR3": 0x18, "DDR4": 0x1A, "HBM2": 0x21, "DDR5": 0x22, "LPDDR5": 0x23, "0x02": 0x02}
MIB = 1 << 20


def structure(kind: int, formatted: bytes, strings: Sequence[str] = (), handle: int = 0) -> bytes:
    """A structure with its header, strings and end."""
    header = bytes((kind, 4 + len(formatted))) + handle.to_bytes(2, "little")
    return header + formatted + (b"".join(each.encode("latin-1") + b"\0" for each in strings) or b"\0") + b"\0"


def memory_device(device: MemoryDevice, length: int = 0x5C) -> bytes:
    """A type 17 of ``length`` bytes: 0x1B up to 2.5, 0x22 of 2.7, 0x28 of 2.8, 0x5C of 3.3."""
    strings = list(dict.fromkeys(each for each in (device.locator, device.bank) if each))
    area = bytearray(0x5C)

    def put(offset: int, size: int, value: int) -> None:
        area[offset : offset + size] = value.to_bytes(size, "little")

    put(0x0A, 2, 0xFFFF if device.width is None else device.width)
    put(0x0C, 2, _size(device, put))
    put(0x10, 1, strings.index(device.locator) + 1 if device.locator else 0)
    put(0x11, 1, strings.index(device.bank) + 1 if device.bank else 0)
    put(0x12, 1, KINDS.get(device.kind, 0x02))
    for speed, offset, extended in ((device.rated, 0x15, 0x54), (device.speed, 0x20, 0x58)):
        put(offset, 2, min(speed or 0, 0xFFFF))
        put(extended, 4, speed if speed and speed >= 0xFFFF else 0)
    put(0x28, 1, 0x03 if device.volatile else 0x07)
    return structure(17, bytes(area[4:length]), strings)


def _size(device: MemoryDevice, put) -> int:  # type: ignore[no-untyped-def]
    if device.size is None:
        return 0xFFFF
    if device.size % MIB:
        return 0x8000 | (device.size >> 10)
    if device.size // MIB < 0x7FFF:
        return device.size // MIB
    put(0x1C, 4, device.size // MIB)
    return 0x7FFF


def table(devices: Sequence[MemoryDevice], length: int = 0x5C) -> bytes:
    """A whole table: a BIOS and an array before the devices, and the end."""
    before = structure(0, bytes(20), ["Vendor", "1.0"]) + structure(16, bytes(19))
    return before + b"".join(memory_device(device, length) for device in devices) + structure(127, b"")
