"""PCI bus ids and the generations of PCI Express."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from nearfar.base import NearfarError

_BUS_ID = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")

_T = TypeVar("_T")

AMD = "1002"
#: AMD's device ids of Vega 10 and 20 and of all later cards. Graphics inside processors, and on mainboards, have others.
_AMD_CARDS = re.compile("686.|66a.|7[3-7]..")
#: What AMD's own tools call these boards depends on their version: the names of the data sheets.
_AMD_NAMES = {
    "738c": "AMD Instinct MI100", "7408": "AMD Instinct MI250X", "740c": "AMD Instinct MI250", "740f": "AMD Instinct MI210",
    "74a0": "AMD Instinct MI300A", "74a1": "AMD Instinct MI300X", "74a5": "AMD Instinct MI325X", "75a0": "AMD Instinct MI350X",
    "75a3": "AMD Instinct MI355X",
}  # fmt: skip

#: GT/s of a lane -> generation.
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


def normal_bus_id(text: str) -> str:
    """``00000000:1B:00.0`` and ``1b:00.0`` alike as ``0000:1b:00.0`` (lower case, a domain of at least four digits)."""
    match = _BUS_ID.fullmatch(text.strip())
    if not match:
        raise NearfarError(f"'{text}' is not a PCI bus id like 0000:1b:00.0")
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def bus_order(bus_id: str) -> tuple[int, ...]:
    """What sorts normal bus ids in PCI order (domain, bus, device, function)."""
    return tuple(int(part, 16) for part in re.split("[:.]", bus_id))


def is_gpu(pci_class: str, vendor: str, device: str) -> bool:
    """Whether a PCI function is a GPU, from its four-digit class, vendor and device ids in lower case.

    NVIDIA's display and 3D controllers, and a display controller without any id: so POWER9 shows a GPU whose
    configuration space is closed. Of AMD's display controllers and processing accelerators its cards.
    """
    if vendor == AMD:
        return pci_class in ("0300", "0302", "0380", "1200") and _AMD_CARDS.fullmatch(device) is not None
    return pci_class in ("0300", "0302") and (vendor == "10de" or (vendor, device) == ("0000", "0000"))


def measured_or_all(devices: Sequence[_T], vendor_of: Callable[[_T], str]) -> list[_T]:
    """The GPUs without AMD's where others are too: beside NVIDIA's such a card drives a display."""
    return [device for device in devices if vendor_of(device) != AMD] or list(devices)


def amd_name(device: str) -> str | None:
    """The model of an AMD accelerator by its PCI device id."""
    return _AMD_NAMES.get(device)


def generation(speed: str) -> int | None:
    """The PCI Express generation of what sysfs says (``16.0 GT/s PCIe``); ``None`` where it says ``Unknown``."""
    match = re.match(r"\s*(\d+(?:\.\d+)?) GT/s", speed)
    return _GENERATIONS.get(float(match[1])) if match else None
