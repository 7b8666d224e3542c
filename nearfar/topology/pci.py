"""PCI bus ids and the generations of PCI Express."""

from __future__ import annotations

import re

from nearfar.base import NearfarError

_BUS_ID = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")

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
    """Whether a PCI function is a GPU to measure, from its four-digit class, vendor and device ids in lower case.

    NVIDIA's display and 3D controllers, and a display controller without any id: so POWER9 shows a GPU whose
    configuration space is closed.
    """
    return pci_class in ("0300", "0302") and (vendor == "10de" or (vendor, device) == ("0000", "0000"))


def generation(speed: str) -> int | None:
    """The PCI Express generation of what sysfs says (``16.0 GT/s PCIe``); ``None`` where it says ``Unknown``."""
    match = re.match(r"\s*(\d+(?:\.\d+)?) GT/s", speed)
    return _GENERATIONS.get(float(match[1])) if match else None
