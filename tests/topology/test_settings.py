"""The settings that cost speed: read from the kernel and the driver, and compared over nodes without a measurement."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

from nearfar.topology import (
    SETTINGS,
    Gpu,
    Node,
    NumaNode,
    Package,
    inventory,
    node_from_document,
    node_to_document,
    parse_hwloc_xml,
    setting_values,
    spread_settings,
    written_settings,
)
from tests.support import construct_topologies
from tests.support.fake_nvml import FakeGpu, FakeNvml
from tests.topology.test_inventory import machine

_CPU = "sys/devices/system/cpu"
FILES = {
    "sys/class/dmi/id/bios_version": "1.4",
    "proc/cpuinfo": "flags\t\t: fpu vme",
    **{f"{_CPU}/cpu{cpu}/cpufreq/scaling_governor": "performance" for cpu in range(3)},
    f"{_CPU}/cpu3/cpufreq/scaling_governor": "powersave",
    f"{_CPU}/intel_pstate/no_turbo": "1",
    f"{_CPU}/cpu0/cpuidle/state0/name": "POLL", f"{_CPU}/cpu0/cpuidle/state0/disable": "0",
    f"{_CPU}/cpu0/cpuidle/state1/name": "C1", f"{_CPU}/cpu0/cpuidle/state1/disable": "0",
    f"{_CPU}/cpu0/cpuidle/state2/name": "C6", f"{_CPU}/cpu0/cpuidle/state2/disable": "1",
    "sys/class/iommu/dmar0/name": "", "sys/bus/pci/devices/0000:03:00.0/iommu_group/type": "DMA-FQ",
    "sys/module/nvidia/version": "580.1",
}  # fmt: skip


def pci_express(control: int) -> bytes:
    """Configuration of a device with power management and PCI Express."""
    config = bytearray(256)
    config[0x34], config[0x40:0x42], config[0x60:0x62] = 0x40, b"\x01\x60", b"\x10\x00"
    config[0x68:0x6A] = struct.pack("<H", control)
    return bytes(config)


def access_control(enabled: int) -> bytes:
    """Configuration of a bridge with error reporting and access control (ACS)."""
    extended = bytearray(256)
    extended[0x40:0x44] = struct.pack("<I", 0x0001000D)
    extended[:4] = struct.pack("<I", 0x14010001)
    extended[0x46:0x48] = struct.pack("<H", enabled)
    return bytes(256) + bytes(extended)


def test_settings_are_read_and_kept(tmp_path: Path) -> None:
    root = machine(tmp_path)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    devices = root / "sys/bus/pci/devices"
    (devices / "0000:03:00.0/config").write_bytes(pci_express(0x5020))  # 4096 and 256 bytes
    (devices / "0000:04:00.0/config").write_bytes(pci_express(0x5020)[:64])  # all that others than root see
    (devices / "0000:02:00.0/config").write_bytes(access_control(0x1D))
    (devices / "0000:02:01.0/config").write_bytes(access_control(0x01))
    xml = (construct_topologies.CAPTURES / "constructed-unknown-locality.xml").read_text(encoding="utf-8")
    driver = FakeNvml([FakeGpu("0000:03:00.0"), FakeGpu("0000:04:00.0", lost_at="power_limit")])
    node = inventory.observe(xml, root=root, nvml=driver)
    values = setting_values(node_from_document(node_to_document(node)))
    assert values == {
        "bios": {"node": "1.4"}, "hypervisor": {"node": "none"}, "numa_per_socket": {"node": "1"},
        "governor": {"node": "performance on 3 CPUs, powersave on 1 CPU"}, "turbo": {"node": "off"},
        "c_states": {"node": "POLL/C1"}, "iommu": {"node": "on (DMA-FQ)"}, "acs": {"g1": "on", "g2": "off"},
        "payload": {"g1": "256 B"}, "read_request": {"g1": "4096 B"}, "driver": {"node": "580.159.04"},
        "vbios": {"node": "96.00.A5"}, "peermem": {"node": "not loaded"}, "persistence": {"g1": "on", "g2": "on"},
        "ecc": {"g1": "on", "g2": "on"}, "application_clocks": {"g1": "SM 1980 MHz, memory 3201 MHz"},
        "power_limit": {"g1": "700 W"},
    }  # fmt: skip
    known = [
        setting.key for setting in SETTINGS if setting.key != "kernel"
    ]  # of this machine, and the XML is of another
    assert list(values) == known


def test_what_cannot_be_read_is_absent(tmp_path: Path) -> None:
    xml = (construct_topologies.CAPTURES / "constructed-unknown-locality.xml").read_text(encoding="utf-8")
    node = inventory.observe(xml, root=tmp_path)
    assert set(setting_values(node)) == {"numa_per_socket"} and "settings" not in node_to_document(node)
    stored = parse_hwloc_xml(xml.replace("DMIProductName", "DMIBIOSVersion", 1))
    assert stored.settings == {"bios": "Constructed node of unknown locality"}


def test_only_what_differs_between_nodes_is_named() -> None:
    gpus = tuple(Gpu(index, f"0000:0{index}:00.0", ecc=True, settings={"persistence": "on"}) for index in range(2))
    usual = Node("", (Package(0, (0,)),), (NumaNode(0, 0, (0,), 1),), gpus, settings={"bios": "1.4", "turbo": "on"})
    nodes = {f"node{number:02}": usual for number in range(1, 41)}
    for name in ("node05", "node11", "node30"):
        nodes[name] = replace(usual, settings={**usual.settings, "bios": "1.2"})
    nodes["node07"] = replace(usual, gpus=(gpus[0], replace(gpus[1], settings={"persistence": "off"})))
    nodes["node08"] = replace(usual, gpus=(gpus[0],), settings={"turbo": "on"})
    known = {name: written_settings(node) for name, node in nodes.items()}
    assert [spread.sentence for spread in spread_settings(known)] == [
        "36 of 39 nodes have BIOS 1.4, 3 have 1.2 (node05, node11, node30), not read on 1 (node08)",
        "39 of 40 nodes have persistence mode on, 1 has on, off on g1 (node07)",
    ]
    assert spread_settings({"a": {"bios": "1.4"}, "b": {"bios": "1.4"}}) == []
    (two,) = spread_settings({"a": {"bios": "1.4"}, "b": {"bios": "1.2"}})
    assert two.sentence == "1 of 2 nodes has BIOS 1.4 (a), 1 has 1.2 (b)"
