"""Sets of CPUs and NUMA nodes as Linux lists (``0-3,8``) and as hwloc bitmaps (``0x000000ff,,0x00000001``)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nearfar.base import NearfarError

#: Numbers above this are not CPUs of any machine: a typing error would otherwise fill the memory.
_LARGEST = 1 << 20


def parse_number(text: str) -> int | None:
    """A whole number of at most 20 decimal digits (64 bits), else ``None``."""
    return int(text) if re.fullmatch("[0-9]{1,20}", text) else None


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """The numbers of a Linux list such as ``0-3,8``, sorted; an empty text is the empty set."""
    if not text.strip():
        return ()
    numbers: set[int] = set()
    for part in text.strip().split(","):
        first, dash, last = part.strip().partition("-")
        low = parse_number(first)
        high = parse_number(last) if dash else low
        if low is None or high is None or not low <= high <= _LARGEST:
            raise NearfarError(f"'{text}' is not a list of CPUs like 0-3,8: '{part}' is not a number or a range")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))


def format_cpu_list(numbers: Iterable[int]) -> str:
    """A Linux list of the numbers: ``0-3,8``; empty for none."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def parse_bitmap(text: str) -> frozenset[int] | None:
    """The bits of an hwloc bitmap: 32-bit words from the highest, empty words zero; ``None`` for an infinite one."""
    if text.startswith("0xf...f"):
        return None
    bits: set[int] = set()
    for position, word in enumerate(reversed(text.split(","))):
        try:
            value = int(word, 16) if word.strip() else 0
        except ValueError:
            raise NearfarError(f"'{text}' is not an hwloc bitmap") from None
        if not 0 <= value < 1 << 32:
            raise NearfarError(f"'{text}' is not an hwloc bitmap: words have 32 bits")
        bits.update(32 * position + bit for bit in range(32) if value >> bit & 1)
    return frozenset(bits)
