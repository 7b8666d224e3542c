"""The memory devices of an SMBIOS table (DMTF DSP0134, type 17), pure from its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nearfar.base import NearfarError

_MEMORY_DEVICE, _END = 17, 127
_HEADER = 4
#: Kinds of memory by the field "memory type"; the others have no name here.
_KINDS = {
    0x13: "DDR2",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
}
#: The field "memory technology": not told, or DRAM; the others hold data without power and are no main memory.
_DRAM = (0x00, 0x01, 0x02, 0x03)
_MIB, _KIB = 1 << 20, 1 << 10


@dataclass(frozen=True)
class MemoryDevice:
    """A slot of memory. ``locator`` and ``bank`` are its places as the firmware names them; ``size`` is in bytes (0: empty).

    ``kind`` is ``DDR5`` and so on (``0x1E`` for what has no name here), ``width`` the bits of its data, ``speed`` the transfers that it is
    set to and ``rated`` the most that it can do, in MT/s. ``volatile``: whether it is main memory. ``None``: the firmware does not say.
    """

    locator: str
    bank: str
    size: int | None
    kind: str
    width: int | None
    speed: int | None
    rated: int | None
    volatile: bool = True


def memory_devices(table: bytes) -> tuple[MemoryDevice, ...]:
    """Every type 17 of a table (``/sys/firmware/dmi/tables/DMI``), in its order, the empty slots too.

    Raises ``NearfarError`` for what is no such table: a structure shorter than its header, or one that the table cuts off.
    """
    return tuple(
        _device(formatted, strings) for code, formatted, strings in _structures(table) if code == _MEMORY_DEVICE
    )


def _structures(table: bytes) -> Iterator[tuple[int, bytes, list[str]]]:
    """Type, formatted area and strings of each structure, up to the one that ends the table."""
    at = 0
    while at + _HEADER <= len(table):
        code, length = table[at], table[at + 1]
        if length < _HEADER:
            raise NearfarError(f"no SMBIOS table: at byte {at} a structure of {length} bytes")
        end = table.find(b"\0\0", at + length)
        if end < 0:
            raise NearfarError(f"no whole SMBIOS table: the structure at byte {at} is cut off")
        # Each string ends with a zero, and one more ends them all; without any string there are two.
        strings = table[at + length : end].split(b"\0")
        yield code, table[at : at + length], [text.decode("latin-1").strip() for text in strings]
        if code == _END:
            return
        at = end + 2


def _device(area: bytes, strings: list[str]) -> MemoryDevice:
    technology = _number(area, 0x28, 1)
    code = _number(area, 0x12, 1)
    return MemoryDevice(
        locator=_string(area, 0x10, strings),
        bank=_string(area, 0x11, strings),
        size=_size(area),
        kind="" if code is None else _KINDS.get(code, f"0x{code:02X}"),
        width=_known(_number(area, 0x0A, 2), 0xFFFF),
        speed=_speed(area, 0x20, 0x58),
        rated=_speed(area, 0x15, 0x54),
        volatile=technology is None or technology in _DRAM,
    )


def _size(area: bytes) -> int | None:
    size = _known(_number(area, 0x0C, 2), 0xFFFF)
    if size is None:
        return None
    if size == 0x7FFF:
        extended = _number(area, 0x1C, 4)
        return None if extended is None else (extended & 0x7FFFFFFF) * _MIB
    return (size & 0x7FFF) * (_KIB if size & 0x8000 else _MIB)


def _speed(area: bytes, offset: int, extended: int) -> int | None:
    """MT/s; None for 0, which is "unknown"."""
    speed = _number(area, offset, 2)
    if speed == 0xFFFF:
        speed = _number(area, extended, 4)
    return speed or None


def _known(number: int | None, unknown: int) -> int | None:
    return None if number == unknown else number


def _number(area: bytes, offset: int, size: int) -> int | None:
    """A field; None where the structure is of a version that did not have it yet."""
    end = offset + size
    return int.from_bytes(area[offset:end], "little") if end <= len(area) else None


def _string(area: bytes, offset: int, strings: list[str]) -> str:
    number = _number(area, offset, 1) or 0
    return strings[number - 1] if 0 < number <= len(strings) else ""
