"""What the kernel says of PCI devices and NUMA nodes, from a ``/sys`` and ``/proc`` below any root directory."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from nearfar.base import NearfarError, text_or_empty
from nearfar.topology import (
    AMD,
    Gpu,
    Link,
    Node,
    amd_name,
    bus_order,
    generation,
    is_gpu,
    measured_or_all,
    normal_bus_id,
    parse_cpu_list,
)

_DEVICES = "sys/bus/pci/devices"
#: How the firmware that hypervisors show begins its vendor and product, as systemd-detect-virt reads them.
_HYPERVISORS = ("KVM", "QEMU", "OpenStack", "VMware", "VMW", "innotek GmbH", "VirtualBox", "Xen", "Bochs", "Parallels", "BHYVE",
                "Google Compute Engine", "Apple Virtualization", "Hyper-V", "Virtual Machine")  # fmt: skip
_VENDORS = ("sys_vendor", "product_name", "board_vendor", "bios_vendor")


def gpu_pci_devices(root: Path = Path("/")) -> tuple[Gpu, ...]:
    """All the machine's GPUs in PCI bus order, from sysfs alone (milliseconds, no lstopo, no driver)."""
    try:
        present = sorted((root / _DEVICES).iterdir())
    except OSError:
        return ()
    there = measured_or_all([each for each in present if is_gpu(*_ids(each))], lambda each: _ids(each)[1])
    addresses = [directory.name.lower() for directory in there]
    gpus = []
    for index, pci in enumerate(sorted(addresses, key=bus_order)):
        uplinks, host_bridge = bridges(root, pci)
        _, vendor, device = _ids(root / _DEVICES / pci)
        gpus.append(
            Gpu(
                index=index,
                pci=pci,
                name=amd_name(device) if vendor == AMD else None,
                vendor="amd" if vendor == AMD else None,
                numa_node=device_numa_node(root, pci),
                link=pci_link(root, pci, uplinks),
                uplinks=uplinks,
                host_bridge=host_bridge,
            )
        )
    return tuple(gpus)


def gpus_not_measured(root: Path = Path("/")) -> str | None:
    """Why none of the machine's GPUs can be measured; None where they can, or there are none."""
    return Node("", (), (), gpu_pci_devices(root)).not_measured


def bridges(root: Path, pci: str) -> tuple[tuple[str, ...], str | None]:
    """The bridges above a device, nearest first, and its root bus (``0000:00``), from its place in ``/sys/devices``."""
    try:
        parts = (root / _DEVICES / pci).resolve(strict=True).parts
    except OSError:
        return (), None
    uplinks = [
        part.lower() for part in parts[:-1] if re.fullmatch(r"[0-9a-fA-F]{4,8}(:[0-9a-fA-F]{2}){2}\.[0-7]", part)
    ]
    roots = [part[3:].lower() for part in parts if re.fullmatch(r"pci[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}", part)]
    return tuple(reversed(uplinks)), roots[-1] if roots else None


def slot(root: Path, pci: str, uplinks: tuple[str, ...]) -> str | None:
    """The firmware's name of the slot that a device sits in, else the nearest bridge above it: a board may have one of its own."""
    places = {text_or_empty(place / "address").lower(): place.name for place in (root / "sys/bus/pci/slots").glob("*")}
    return next((places[own] for each in (pci, *uplinks) if (own := each.partition(".")[0]) in places), None)


def device_numa_node(root: Path, pci: str) -> int | None:
    """The NUMA node of a PCI device; ``None`` where the kernel says -1."""
    text = text_or_empty(root / _DEVICES / pci / "numa_node")
    return int(text) if re.fullmatch("[0-9]{1,6}", text) else None


def pci_link(root: Path, pci: str, uplinks: tuple[str, ...] = ()) -> Link:
    """The link of a PCI device, now and at most: the smaller of what the device and its slot (``uplinks[0]``) allow."""
    link = _own_link(root, pci)
    if uplinks:
        slot = _own_link(root, uplinks[0])
        link = replace(
            link, max_gen=_smaller(link.max_gen, slot.max_gen), max_width=_smaller(link.max_width, slot.max_width)
        )
    return link


def _own_link(root: Path, pci: str) -> Link:
    directory = root / _DEVICES / pci
    return Link(
        "pcie",
        gen=generation(text_or_empty(directory / "current_link_speed")),
        width=_width(text_or_empty(directory / "current_link_width")),
        max_gen=generation(text_or_empty(directory / "max_link_speed")),
        max_width=_width(text_or_empty(directory / "max_link_width")),
    )


def numa_cpus(root: Path) -> dict[int, tuple[int, ...]]:
    """NUMA node -> its own CPUs."""
    cpus = {}
    for path in (root / "sys/devices/system/node").glob("node*/cpulist"):
        name = path.parent.name[len("node") :]
        if name.isdecimal():
            try:
                cpus[int(name)] = parse_cpu_list(text_or_empty(path))
            except NearfarError:
                continue
    return cpus


def gpu_memory_nodes(root: Path) -> dict[int, str]:
    """NUMA nodes that are GPU memory, by NVIDIA's driver -> the bus id of their GPU."""
    addresses = {}
    for path in (root / "proc/driver/nvidia/gpus").glob("*/numa_status"):
        match = re.search(r"^Node:\s*([0-9]{1,6})\s*$", text_or_empty(path), re.MULTILINE)
        if match:
            addresses[int(match[1])] = normal_bus_id(path.parent.name)
    return addresses


def product_name(root: Path) -> str | None:
    """The machine's model, from its firmware (DMI, or the device tree where there is none)."""
    tree = text_or_empty(root / "proc/device-tree/model").rstrip("\0").strip()
    return text_or_empty(root / "sys/class/dmi/id/product_name") or tree or None


def cpu_models(root: Path) -> frozenset[str]:
    """The names of the machine's CPUs, as hwloc takes them from the kernel; empty where it names none (Arm)."""
    lines = re.findall(r"^(?:model name|cpu)[ \t]*:(.*)$", text_or_empty(root / "proc/cpuinfo"), re.MULTILINE)
    return frozenset(" ".join(line.split()) for line in lines)


def virtual_machine(root: Path) -> bool | None:
    """Whether the machine runs under a hypervisor: the CPU's own flag where the kernel lists flags (x86), else what the kernel, the
    device tree or the firmware call it. ``None`` where ``/proc/cpuinfo`` is not there."""
    cpus = text_or_empty(root / "proc/cpuinfo")
    if not cpus:
        return None
    flags = re.search(r"^flags[ \t]*:(.*)$", cpus, re.MULTILINE)
    if flags:
        return "hypervisor" in flags[1].split()
    if text_or_empty(root / "sys/hypervisor/type") or text_or_empty(root / "proc/device-tree/hypervisor/compatible"):
        return True
    return any(text_or_empty(root / "sys/class/dmi/id" / name).startswith(_HYPERVISORS) for name in _VENDORS)


def driver_version(root: Path) -> str | None:
    """The NVIDIA kernel driver's version, where it is loaded."""
    return text_or_empty(root / "sys/module/nvidia/version") or None


def _ids(directory: Path) -> tuple[str, str, str]:
    pci_class, vendor, device = (
        text_or_empty(directory / name).removeprefix("0x") for name in ("class", "vendor", "device")
    )
    return pci_class[:4], vendor, device


def _width(text: str) -> int | None:
    # Linux says 0 or 255 (all bits of the field) for a link that it cannot read.
    return int(text) if re.fullmatch("[0-9]{1,2}", text) and int(text) > 0 else None


def _smaller(a: int | None, b: int | None) -> int | None:
    return min((value for value in (a, b) if value is not None), default=None)
