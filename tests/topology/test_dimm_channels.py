"""The peak of host memory by NUMA node: from DIMMs as vendors' firmware names them, and never a guess."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.topology import MemoryDevice, Node, NumaNode, Package, UnknownPeakError, draw, memory_peaks
from nearfar.topology.inventory import dimms
from tests.support import smbios_tables

GIB = 1 << 30


def machine(packages: int = 2, each: int = 1, memory: int = 256) -> Node:
    """A node with so many packages of ``each`` NUMA nodes, and ``memory`` GiB in all."""
    count = packages * each
    numa = tuple(NumaNode(n, n // each, (n,), memory * GIB // count) for n in range(count))
    return Node("made", tuple(Package(p, tuple(range(p * each, (p + 1) * each))) for p in range(packages)), numa)


def filled(
    name: Callable[[int, int], tuple[str, str]], packages: int = 2, channels: int = 8, **facts: object
) -> list[MemoryDevice]:
    """One DIMM of DDR5-4800 in each channel; ``name``: locator and bank of a package's channel."""
    dimm = replace(MemoryDevice("", "", 256 * GIB // (packages * channels), "DDR5", 64, 4800, 5600), **facts)  # type: ignore[arg-type]
    names = [name(package, channel) for package in range(packages) for channel in range(channels)]
    return [replace(dimm, locator=locator, bank=bank) for locator, bank in names]


def letter(n: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWX"[n]


#: Locator and bank of a channel's first DIMM, as firmware of these makes has them.
FIRMWARE: dict[str, Callable[[int, int], tuple[str, str]]] = {
    "Supermicro": lambda p, c: (f"P{p + 1}-DIMM{letter(c)}1", f"P{p}_Node{p}_Channel{c}_Dimm0"),
    "AMD": lambda p, c: ("DIMM 0", f"P{p} CHANNEL {letter(c)}"),
    "Intel, before 2017": lambda p, c: (f"DIMM_{letter(c)}1", f"NODE {p} CHANNEL {c} DIMM 0"),
    "Intel": lambda p, c: (f"CPU{p}_DIMM_{letter(c)}1", f"NODE {p}"),
    "Gigabyte": lambda p, c: (f"DIMM_P{p}_{letter(8 * p + c)}0", "BANK 0"),
    "Inspur": lambda p, c: (f"CPU{p}_C{c}D0", "Not Specified"),
}


@pytest.mark.parametrize("make", FIRMWARE)
def test_channels_that_firmware_names(make: str) -> None:
    devices = filled(FIRMWARE[make])
    assert memory_peaks(machine(), devices) == pytest.approx({0: 307.2, 1: 307.2})
    # Two DIMMs in each channel are no more channels; the slower one counts.
    second = [replace(each, locator=each.locator[:-1] + "2", speed=4400) for each in devices]
    assert memory_peaks(machine(memory=512), devices + second) == pytest.approx({0: 281.6, 1: 281.6})
    # A package whose second half is empty; empty slots keep the packages' order where one has no memory.
    half = [replace(each, size=0, kind="0x02", speed=None) if n % 2 else each for n, each in enumerate(devices)]
    assert memory_peaks(machine(memory=128), half) == pytest.approx({0: 153.6, 1: 153.6})


def test_numa_nodes_of_a_package_share_its_channels() -> None:
    devices = filled(FIRMWARE["AMD"], channels=12, size=12 * GIB)
    assert memory_peaks(machine(each=4, memory=288), devices) == pytest.approx(dict.fromkeys(range(8), 115.2))
    with pytest.raises(UnknownPeakError, match="12 channels of package 0 are not shared evenly by its 5 NUMA nodes"):
        memory_peaks(machine(each=5, memory=288), devices)
    node = machine(each=2, memory=288)
    uneven = tuple(replace(n, memory=n.memory // 2 * (1 + 2 * (n.index % 2))) for n in node.numa_nodes)
    with pytest.raises(UnknownPeakError, match="not shared evenly"):
        memory_peaks(replace(node, numa_nodes=uneven), devices)


def test_one_numa_node_over_two_packages_has_all() -> None:
    node = machine()
    whole = replace(node, numa_nodes=(NumaNode(0, None, (0, 1), 256 * GIB),))
    assert memory_peaks(whole, filled(FIRMWARE["AMD"])) == pytest.approx({0: 614.4})


def test_order_and_empty_slots_change_nothing() -> None:
    for seed in range(100):
        chance = random.Random(seed)
        packages, channels = chance.choice((1, 2, 4)), chance.choice((1, 2, 6, 8, 12))
        devices = filled(FIRMWARE["Intel"], packages, channels, size=GIB, speed=chance.choice((4400, 4800, 5600)))
        empty = [replace(each, locator=each.locator[:-1] + "2", size=0, kind="0x02") for each in devices]
        mixed = chance.sample(devices + empty, 2 * len(devices))
        rate = (devices[0].speed or 0) * 8 * channels / 1000
        node = machine(packages, memory=packages * channels)
        assert memory_peaks(node, mixed) == pytest.approx(dict.fromkeys(range(packages), rate)), seed


SINGLE = filled(FIRMWARE["Supermicro"])
NOT_KNOWN: dict[str, tuple[list[MemoryDevice], str]] = {
    "no DIMM": ([], "lists no DIMM"),
    "only empty slots": ([replace(each, size=0) for each in SINGLE], "lists no DIMM"),
    "size not reported": ([*SINGLE[1:], replace(SINGLE[0], size=None)], "how large"),
    "QEMU": (filled(lambda p, c: ("DIMM 0", ""), 1, 1, kind="0x07", speed=None, size=256 * GIB), "of kind 0x07"),
    "Grace": (filled(lambda p, c: (f"LP5x_{c}", f"LP5x_{c}"), 1, 8, kind="LPDDR5", width=32), "of kind LPDDR5"),
    "high-bandwidth memory": (filled(FIRMWARE["AMD"], kind="HBM2"), "of kind HBM2"),
    "speed not reported": (filled(FIRMWARE["AMD"], speed=None), "what speed DIMM 0 is set to"),
    "a clock": (filled(FIRMWARE["AMD"], kind="DDR4", speed=1333, rated=2666), "set to 1333, half of its 2666 MT/s"),
    "a clock of old": (filled(FIRMWARE["AMD"], kind="DDR3", speed=667, rated=1333), "667 MT/s, which no DDR3 is"),
    "nonsense": (filled(FIRMWARE["AMD"], speed=65000), "65000 MT/s, which no DDR5 is"),
    "other width": (filled(FIRMWARE["AMD"], width=None), "an unknown number of bits"),
    "Dell": (filled(lambda p, c: (f"{letter(p)}{c + 1}", "Not Specified")), r"places \('A1'\) do not show which channel"),
    "HPE": (filled(lambda p, c: (f"PROC {p + 1} DIMM {c + 1}", "Not Specified")), "do not show which channel"),
    "one place for all": (filled(lambda p, c: ("DIMM 0", f"P{p} CHANNEL A")), "8 DIMMs of one channel"),
    "a package too many": (filled(FIRMWARE["AMD"], 4, 4), "name 4 packages or nodes, and there are 2 packages"),
    "a DIMM too few": (SINGLE[1:], "have 240 GiB, and this node 256 GiB"),
    "mirrored": ([*SINGLE, *SINGLE], "have 512 GiB, and this node 256 GiB"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_KNOWN)
def test_what_would_be_a_guess_is_not_known(case: str) -> None:
    devices, words = NOT_KNOWN[case]
    with pytest.raises(UnknownPeakError, match=words):
        memory_peaks(machine(), devices)


def test_memory_without_cpus_is_of_no_known_kind() -> None:
    node = machine()
    with pytest.raises(UnknownPeakError, match="no CPUs of its own"):
        memory_peaks(replace(node, numa_nodes=(*node.numa_nodes, NumaNode(2, 0, (), GIB))), SINGLE)


def firmware(root: Path, devices: list[MemoryDevice]) -> Path:
    path = root / "sys/firmware/dmi/tables/DMI"
    path.parent.mkdir(parents=True)
    path.write_bytes(smbios_tables.table(devices))
    return path


def test_a_machine_with_its_firmware(tmp_path: Path) -> None:
    firmware(tmp_path, SINGLE)
    node = dimms.with_memory_peaks(machine(), tmp_path)
    assert [numa.peak for numa in node.numa_nodes] == pytest.approx([307.2, 307.2])
    assert node.notes == ("the peak of host memory is that of 16 channels of DDR5-4800, as the firmware lists them",)
    assert "n1  CPUs 1  128 GiB, at most 307.2 GB/s" in draw(node)


def test_old_kernels_have_each_structure_by_itself(tmp_path: Path) -> None:
    for n, device in enumerate(SINGLE):
        path = tmp_path / f"sys/firmware/dmi/entries/17-{n}/raw"
        path.parent.mkdir(parents=True)
        path.write_bytes(smbios_tables.memory_device(device))
    assert [numa.peak for numa in dimms.with_memory_peaks(machine(), tmp_path).numa_nodes] == pytest.approx([307.2] * 2)


def test_why_it_is_not_known_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def note(node: Node) -> str:
        found = dimms.with_memory_peaks(node, tmp_path)
        assert [numa.peak for numa in found.numa_nodes] == [None, None] and "at most" not in draw(found)
        return found.notes[-1]

    assert "there is no SMBIOS table" in note(machine())
    path = firmware(tmp_path, SINGLE)
    assert "a virtual machine" in note(replace(machine(), virtual_machine=True))
    path.write_bytes(b"\x11\x02\0\0")
    assert "no SMBIOS table: at byte 0" in note(machine())

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert note(machine()) == f"the peak of host memory is not known: only root may read {path}"
