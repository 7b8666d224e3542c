"""lstopo, NVML and sysfs put together; visibility; versions."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.topology import Link, Node, inventory, node_from_document, node_to_document, peer_class
from nearfar.topology.inventory.nvml import DriverGpu, read_driver
from nearfar.topology.inventory.visibility import visible_gpus
from tests.support import construct_topologies
from tests.support.fake_nvml import FakeGpu, FakeNvml

needs_lstopo = pytest.mark.skipif(
    not (shutil.which("lstopo-no-graphics") or shutil.which("lstopo")), reason="lstopo is not installed"
)


def observed(nvml: FakeNvml, capture: str = "virtual-machine-4gpus", **environment: str) -> Node:
    path = construct_topologies.CAPTURES / f"constructed-{capture}.xml"
    return inventory.observe(path.read_text(encoding="utf-8"), nvml=nvml, environment=environment)


def four(**changes: Any) -> FakeNvml:
    """The driver of the guest with four GPUs; ``changes`` are made to its GPU 2."""
    gpus = [FakeGpu(f"0000:00:{3 + n:02x}.0", f"GPU-{n}{n}aa-{n}", lanes=("switch",) * 18) for n in range(4)]
    gpus[2] = FakeGpu(**{**vars(gpus[2]), **changes})
    return FakeNvml(gpus)


# -- the driver -------------------------------------------------------------------------------------------------------


def test_the_driver_names_gpus_and_counts_lanes() -> None:
    node = observed(four())
    gpu = node.gpus[3]
    assert (gpu.uuid, gpu.name, gpu.memory, gpu.mig, gpu.ecc) == ("GPU-33aa-3", "NVIDIA H200", 141 << 30, False, True)
    assert gpu.link == Link("pcie", 1, 16, 5, 16)
    assert (gpu.nvlinks, gpu.nvlink_generation) == (18, 4)
    assert {peer_class(node, a, b) for a in range(4) for b in range(a)} == {"NV18"}
    assert node.software == {
        "architecture": "x86_64", "driver": "580.159.04", "cuda": "13.0", "vbios": "96.00.A5"
    }  # fmt: skip
    assert node.notes == ()


def test_lanes_between_gpus_and_to_the_host() -> None:
    first, second = "0000:01:00.0", "0000:02:00.0"
    nvml = FakeNvml(
        [
            FakeGpu(first, lanes=(second, second, None, "host", "host", "host"), architecture=5),
            FakeGpu(second, lanes=(first, first, "host", "host", "host"), architecture=5),
        ]
    )
    node = observed(nvml, "mig")
    assert node.peers == {(0, 1): "NV2"}
    assert node.gpus[0].link == Link("nvlink", 2, 3, 2, 3)
    assert node.gpus[0].nvlinks == 2


def test_a_coherent_link() -> None:
    assert observed(four(c2c=True)).gpus[2].link == Link("c2c")


def test_lanes_that_are_down_are_not_counted() -> None:
    node = observed(four(lanes=("switch",) * 17 + (None,)))
    assert node.gpus[2].nvlinks == 17
    assert [peer_class(node, 0, 1), peer_class(node, 1, 2)] == ["NV18", "NV17"]
    assert observed(four(lanes=())).gpus[2].nvlinks is None  # a model without NVLink


@pytest.mark.parametrize("where", ["handle", "pci", "name", "memory", "nvlink"])
def test_a_lost_gpu_stays_in_the_node(where: str) -> None:
    node = observed(four(lost_at=where))
    assert [gpu.pci for gpu in node.gpus] == [f"0000:00:0{n}.0" for n in range(3, 7)]
    assert node.gpus[2].fault == "GPU is lost"
    assert not node.gpus[2].visible
    assert node.gpus[3].visible
    assert "GPU 2 at 0000:00:05.0 does not answer the driver: GPU is lost" in node.notes


def test_a_gpu_that_the_container_may_not_see_keeps_its_number() -> None:
    nvml = four()
    del nvml.gpus[0]
    node = observed(nvml, CUDA_VISIBLE_DEVICES="0")
    assert [gpu.visible for gpu in node.gpus] == [False, True, False, False]  # CUDA's 0 is our 1 there
    assert node.gpus[0].fault is None
    assert "GPU 0 at 0000:00:03.0: the driver does not show it to this process" in node.notes


def test_a_gpu_that_only_the_driver_lists_takes_its_place_in_pci_order() -> None:
    nvml = four()
    nvml.gpus.append(FakeGpu("0000:00:01.0", "GPU-new", lanes=("switch",) * 18))
    node = observed(nvml)
    assert [(gpu.index, gpu.pci) for gpu in node.gpus][:2] == [(0, "0000:00:01.0"), (1, "0000:00:03.0")]
    assert any("only the driver lists" in note for note in node.notes)


def test_no_driver_is_a_note() -> None:
    report = read_driver(nvml=FakeNvml(init_error="Driver Not Loaded"))
    assert report.note == "NVML was not read: Driver Not Loaded"
    node = observed(FakeNvml(init_error="Driver Not Loaded"))
    assert len(node.gpus) == 4
    assert all(gpu.visible for gpu in node.gpus)


def test_mig_instances_name_their_gpu() -> None:
    driver = FakeNvml(
        [
            FakeGpu("0000:01:00.0", "GPU-aaaa0000-1"),
            FakeGpu("0000:02:00.0", "GPU-aaaa1111-1", mig=("MIG-1111", "MIG-2222")),
        ]
    )
    node = observed(driver, "mig", CUDA_VISIBLE_DEVICES="MIG-2222")
    assert [gpu.mig for gpu in node.gpus] == [False, True]
    assert [gpu.visible for gpu in node.gpus] == [False, True]
    node = observed(driver, "mig", CUDA_VISIBLE_DEVICES="MIG-GPU-aaaa1111-1/1/0")
    assert [gpu.visible for gpu in node.gpus] == [False, True]


# -- CUDA_VISIBLE_DEVICES ---------------------------------------------------------------------------------------------

CANDIDATES = [
    DriverGpu("0", "GPU-aa11", name="small", power=1),
    DriverGpu("1", "GPU-aa22", name="big", power=9),
    DriverGpu("2", "GPU-bb33", name="big", power=9),
]


@pytest.mark.parametrize(
    ("value", "order", "seen"),
    [
        (None, "", {0, 1, 2}),
        ("", "", set()),
        ("0", "", {1}),  # CUDA's default order: the fastest first
        ("0", "PCI_BUS_ID", {0}),
        ("2,0", "PCI_BUS_ID", {0, 2}),
        ("2, 0", "PCI_BUS_ID", {0, 2}),
        ("2", "", {0}),
        ("0,7,1", "PCI_BUS_ID", {0}),  # what follows an invalid entry is not seen
        ("-1,0", "PCI_BUS_ID", set()),
        ("GPU-bb", "", {2}),
        ("GPU-aa", "", set()),  # names two
        ("GPU-aa22,0", "PCI_BUS_ID", {0, 1}),
        ("MIG-nobodys", "", set()),
        ("99999999999999999999", "", set()),
        ("all", "", set()),
    ],
)
def test_visible_devices(value: str | None, order: str, seen: set[int]) -> None:
    environment = {"CUDA_DEVICE_ORDER": order}
    if value is not None:
        environment["CUDA_VISIBLE_DEVICES"] = value
    assert visible_gpus(CANDIDATES, environment) == set(map(str, seen))


def test_hidden_gpus_stay_and_are_shown_as_hidden() -> None:
    node = observed(four(), CUDA_VISIBLE_DEVICES="3,1")
    assert [gpu.index for gpu in node.gpus if gpu.visible] == [1, 3]
    assert "CUDA_VISIBLE_DEVICES=3,1 leaves to CUDA programs: g1, g3" in node.notes


# -- sysfs ------------------------------------------------------------------------------------------------------------


def machine(root: Path) -> Path:
    """A root directory with two GPUs behind one switch (one of them trained to x8), a display chip, and two NUMA nodes."""

    def device(path: str, pci_class: str, ids: str, **files: str) -> None:
        place = root / "sys/devices" / path
        place.mkdir(parents=True)
        vendor, number = ids.split(":")
        files.update({"class": f"0x{pci_class}00", "vendor": f"0x{vendor}", "device": f"0x{number}"})
        for name, text in files.items():
            (place / name).write_text(text + "\n", encoding="utf-8")
        bus = root / "sys/bus/pci/devices"
        bus.mkdir(parents=True, exist_ok=True)
        (bus / place.name).symlink_to(os.path.relpath(place, bus))

    def link(speed: str, width: int, most: str, most_width: int) -> dict[str, str]:
        names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
        return dict(zip(names, (f"{speed} GT/s PCIe", str(width), f"{most} GT/s PCIe", str(most_width))))

    switch = "pci0000:00/0000:00:01.0/0000:01:00.0"
    device("pci0000:00/0000:00:01.0", "0604", "8086:0001")
    device(switch, "0604", "10b5:8764")
    device(f"{switch}/0000:02:00.0", "0604", "10b5:8764", **link("16.0", 16, "16.0", 16))
    device(f"{switch}/0000:02:01.0", "0604", "10b5:8764", **link("16.0", 8, "16.0", 8))
    device(f"{switch}/0000:02:00.0/0000:03:00.0", "0302", "10de:20b0", numa_node="1", **link("2.5", 16, "16.0", 16))
    device(f"{switch}/0000:02:01.0/0000:04:00.0", "0302", "10de:20b0", numa_node="-1", **link("2.5", 8, "32.0", 16))
    device("pci0000:80/0000:80:01.0", "0300", "1a03:2000", numa_node="0")
    for index, cpus in enumerate(("0-3", "4-7")):
        folder = root / f"sys/devices/system/node/node{index}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n", encoding="utf-8")
    dmi = root / "sys/class/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "product_name").write_text("Test Server\n", encoding="utf-8")
    return root


def test_gpus_without_hwloc(tmp_path: Path) -> None:
    driver = FakeNvml([FakeGpu("0000:41:00.0"), FakeGpu("0000:01:00.0")])
    assert inventory.gpus_without_hwloc(driver, machine(tmp_path)) == inventory.gpu_pci_devices(tmp_path)
    sandbox = inventory.gpus_without_hwloc(driver, tmp_path / "nothing")
    assert [(gpu.index, gpu.pci) for gpu in sandbox] == [(0, "0000:01:00.0"), (1, "0000:41:00.0")]
    assert inventory.gpus_without_hwloc(None, tmp_path / "nothing") == ()


def test_the_kernel_log_of_its_gpus(tmp_path: Path) -> None:
    gpus = inventory.gpu_pci_devices(machine(tmp_path))
    assert inventory.told_of_gpus(gpus, tmp_path) == ["not read: /dev/kmsg cannot be read: No such file or directory"]
    (tmp_path / "dev").mkdir()
    bus = "PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)"
    lines = [
        f"nvidia 0000:04:00.0: {bus}", f"nvme 0000:81:00.0: {bus}",  "usb 1-1: new device",
        "NVRM: Xid (PCI:0000:03:00): 79, pid=7, name=secret, GPU has fallen off the bus.",
        "pcieport 0000:02:01.0: AER: Corrected error received: 0000:04:00.0", f"nvidia 0000:04:00.0: {bus}",
    ]  # fmt: skip
    (tmp_path / "dev/kmsg").write_text("".join(f"6,{n},{n}000000,-;{text}\n" for n, text in enumerate(lines)))
    assert [line.partition(" UTC ")[2] for line in inventory.told_of_gpus(gpus, tmp_path)] == [
        "GPU 0 at 0000:03:00.0: Xid 79: GPU has fallen off the bus.",
        "0000:02:01.0, above GPU 1: AER: Corrected error received: 0000:04:00.0",
        f"GPU 1 at 0000:04:00.0: {bus} (2 times)",
    ]
    (tmp_path / "dev/kmsg").write_text("6,1,1,-;usb 1-1: new device\n")
    assert inventory.told_of_gpus(gpus, tmp_path) == ["nothing of its GPUs since the last boot"]


def test_gpus_from_sysfs_alone(tmp_path: Path) -> None:
    gpus = inventory.gpu_pci_devices(machine(tmp_path))
    assert [(gpu.index, gpu.pci, gpu.numa_node) for gpu in gpus] == [(0, "0000:03:00.0", 1), (1, "0000:04:00.0", None)]
    assert gpus[0].uplinks == ("0000:02:00.0", "0000:01:00.0", "0000:00:01.0")
    assert gpus[0].host_bridge == "0000:00"
    assert gpus[0].link == Link("pcie", 1, 16, 4, 16)
    assert gpus[1].link == Link("pcie", 1, 8, 4, 8)  # the slot allows less than the GPU
    assert inventory.gpu_pci_devices(tmp_path / "nothing") == ()


def test_amd_gpus_from_sysfs_ask_no_driver(tmp_path: Path) -> None:
    devices = machine(tmp_path) / "sys/bus/pci/devices"
    for bus in ("0000:03:00.0", "0000:04:00.0"):
        (devices / bus / "vendor").write_text("0x1002\n")
        (devices / bus / "device").write_text("0x74a1\n")
    gpus = inventory.gpu_pci_devices(tmp_path)
    assert [(gpu.name, gpu.vendor) for gpu in gpus] == [("AMD Instinct MI300X", "amd")] * 2
    assert str(inventory.gpus_not_measured(tmp_path)).startswith("AMD GPUs are described, not measured")
    assert inventory.gpus_without_hwloc(None, tmp_path) == ()


def test_the_kernel_fills_what_hwloc_left_open(tmp_path: Path) -> None:
    xml = (construct_topologies.CAPTURES / "constructed-unknown-locality.xml").read_text(encoding="utf-8")
    root = machine(tmp_path)
    for name, address in (("21", "0000:03:00"), ("GPU board 2", "0000:02:01")):
        (root / "sys/bus/pci/slots" / name).mkdir(parents=True)
        (root / "sys/bus/pci/slots" / name / "address").write_text(address + "\n")
    node = inventory.observe(xml, root=root)
    assert [gpu.pci for gpu in node.gpus] == ["0000:01:00.0", "0000:03:00.0", "0000:04:00.0"]
    assert [gpu.slot for gpu in node_from_document(node_to_document(node)).gpus] == [None, "21", "GPU board 2"]
    assert [(gpu.numa_node, gpu.package) for gpu in node.gpus] == [(None, None), (1, 1), (None, None)]
    assert node.gpus[1].link == Link("pcie", 1, 16, 4, 16)


@pytest.mark.parametrize(
    "cpuinfo, files, virtual",
    [
        ("", {}, None),
        ("flags\t\t: fpu vme\n", {"sys/class/dmi/id/sys_vendor": "QEMU"}, False),
        ("flags\t\t: fpu hypervisor vme\n", {}, True),
        ("Features\t: fp asimd\n", {"sys/class/dmi/id/sys_vendor": "QEMU"}, True),
        ("Features\t: fp asimd\n", {"sys/class/dmi/id/sys_vendor": "Supermicro"}, False),
        ("cpu\t: POWER9\n", {"proc/device-tree/hypervisor/compatible": "linux,kvm"}, True),
        ("cpu\t: POWER9\n", {}, False),
    ],
)
def test_a_virtual_machine_is_known_and_stored(
    tmp_path: Path, cpuinfo: str, files: dict[str, str], virtual: bool | None
) -> None:
    root = machine(tmp_path)
    for name, text in {"proc/cpuinfo": cpuinfo, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    xml = (construct_topologies.CAPTURES / "constructed-unknown-locality.xml").read_text(encoding="utf-8")
    node = inventory.observe(xml, root=root)
    assert node.virtual_machine is virtual
    assert node_from_document(node_to_document(node)).virtual_machine is virtual


def test_the_driver_tells_which_numa_nodes_are_gpu_memory(tmp_path: Path) -> None:
    root = machine(tmp_path)
    status = root / "proc/driver/nvidia/gpus/0000:81:00.0"
    status.mkdir(parents=True)
    (status / "numa_status").write_text("Node: 2\nStatus: online\n", encoding="utf-8")
    for index, cpus in ((2, ""), (3, "8-11")):
        folder = root / f"sys/devices/system/node/node{index}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus + "\n", encoding="utf-8")
    xml = (construct_topologies.CAPTURES / "constructed-cpuless-memory.xml").read_text(encoding="utf-8")
    node = inventory.observe(xml, root=root)
    memory = next(n for n in node.numa_nodes if n.index == 2)
    assert memory.kind == "gpu"
    assert node.gpus[memory.gpu or 0].pci == "0000:81:00.0"


# -- lstopo -----------------------------------------------------------------------------------------------------------


@needs_lstopo
def test_this_machine() -> None:
    node = inventory.observe()
    assert node.host_numa_nodes
    assert node.software["kernel"]
    assert node.software["hwloc"].split(".")[0] >= "2"


@needs_lstopo
def test_hwloc_xmlfile_is_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWLOC_XMLFILE", str(construct_topologies.NODE_TYPES / "keeneland.xml"))
    monkeypatch.setenv("HWLOC_THISSYSTEM", "0")
    node = inventory.observe()
    assert node.hostname == "keeneland"
    assert len(node.gpus) == 3


def fake_lstopo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "lstopo-no-graphics"
    program.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_hwloc_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NearfarError, match=r"apt-get install hwloc .* dnf .* zypper .* spack install hwloc"):
        inventory.observe()


def test_hwloc_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_lstopo(tmp_path, monkeypatch, '[ "$1" = --version ] && echo "lstopo 1.11.9" && exit 0\nexit 1\n')
    for call in (inventory.observe, inventory.hwloc_version):
        with pytest.raises(NearfarError, match=r"hwloc 1.11.9 is too old"):
            call()


def test_lstopo_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_lstopo(
        tmp_path, monkeypatch, '[ "$1" = --version ] && echo "lstopo 2.9.0" && exit 0\necho broken >&2; exit 1\n'
    )
    with pytest.raises(CouldNotJudge, match=r"lstopo failed \(broken\); try: "):
        inventory.observe()
