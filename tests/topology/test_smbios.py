"""Memory devices of SMBIOS tables: what was written is read, whatever else is in the table, and no table does more than be refused."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from nearfar.base import NearfarError
from nearfar.topology import MemoryDevice, memory_devices
from tests.support import smbios_tables

GIB = 1 << 30
DIMM = MemoryDevice("P1-DIMMA1", "P0_Node0_Channel0_Dimm0", 8 * GIB, "DDR4", 64, 2666, 2666)


def any_device(chance: random.Random) -> MemoryDevice:
    sizes = [None, 0, 512 << 10, 1 << 20, 8 * GIB, 31 * GIB, 32 * GIB, 256 * GIB, 4096 * GIB]
    words = ["", "DIMM 0", "P0 CHANNEL A", "CPU1_DIMM_A1", "Grüße", "x" * 60]
    return MemoryDevice(
        chance.choice(words), chance.choice(words), chance.choice(sizes), chance.choice(list(smbios_tables.KINDS)),
        chance.choice([None, 16, 64]), chance.choice([None, 1333, 4800, 70000]), chance.choice([None, 3200, 65535, 100000]),
        chance.random() < 0.8,
    )  # fmt: skip


def test_what_a_table_was_made_from_is_read_from_it() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        devices = tuple(any_device(chance) for _ in range(chance.randrange(6)))
        assert memory_devices(smbios_tables.table(devices)) == devices, seed
        # What follows the structure that ends the table is padding.
        assert memory_devices(smbios_tables.table(devices) + bytes(chance.randrange(20))) == devices, seed


def test_older_versions_lack_what_they_did_not_have_yet() -> None:
    for length, lacks in ((0x1B, {"speed"}), (0x22, set()), (0x28, set())):
        (read,) = memory_devices(smbios_tables.table([DIMM], length))
        assert read == replace(DIMM, **dict.fromkeys(lacks)), length


def test_no_table_is_more_than_refused() -> None:
    whole = smbios_tables.table([DIMM, replace(DIMM, size=64 * GIB)])
    for end in range(len(whole)):
        try:
            assert len(memory_devices(whole[:end])) <= 2
        except NearfarError as refused:
            assert "SMBIOS table" in str(refused)
    for seed in range(500):
        chance = random.Random(seed)
        broken = bytearray(whole)
        for _ in range(chance.randrange(1, 8)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            memory_devices(bytes(broken))
        except NearfarError as refused:
            assert "SMBIOS table" in str(refused)


@pytest.mark.parametrize(
    ("table", "words"),
    [(b"\x11\x02\0\0\0\0", "at byte 0 a structure of 2 bytes"), (b"\x11\x1b" + bytes(10), "cut off")],
)
def test_what_is_no_table_is_named(table: bytes, words: str) -> None:
    with pytest.raises(NearfarError, match=words):
        memory_devices(table)


def test_bytes_by_the_specification() -> None:
    """A type 17 of version 2.8, byte by byte, with what dmidecode prints of a Supermicro X11: 8 GiB of DDR4-2666 in ``P1-DIMMA1``."""
    area = bytes.fromhex(
        "1128 1a00 1900 feff 4800 4000 0020 09 00 01 02 1a 8000 6a0a 03 00 05 06 02 00000000 6a0a b004 b004 b004"
    )
    strings = (
        b"P1-DIMMA1\0P0_Node0_Channel0_Dimm0\0Micron Technology\0S\0P1-DIMMA1_AssetTag\0" + b"18ASF1G72PDZ-2G6B1  \0\0"
    )
    assert memory_devices(area + strings) == (DIMM,)
