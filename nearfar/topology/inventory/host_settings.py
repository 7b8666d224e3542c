"""Settings that cost speed, as the kernel shows them (``topology.SETTINGS``). What cannot be read is absent; nothing needs root but
PCI configuration beyond its first 64 bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from nearfar.base import plural, text_or_empty

from . import sysfs

_CPUS = "sys/devices/system/cpu"
_DEVICES = "sys/bus/pci/devices"
_PCI_EXPRESS, _ACS = 0x10, 0x0D
#: Requests, or completions, of peers are sent up to the root complex.
_REDIRECT = 0x4 | 0x8


def node_settings(root: Path, gpus: Iterable[str]) -> dict[str, str]:
    """The settings of the whole machine; ``gpus``: PCI addresses, whose IOMMU groups count."""
    values = {
        "bios": text_or_empty(root / "sys/class/dmi/id/bios_version"),
        "hypervisor": _hypervisor(root),
        "governor": _over_cpus(text_or_empty(path) for path in _of_cpus(root, "cpufreq/scaling_governor")),
        "turbo": _turbo(root),
        "c_states": _c_states(root),
        "iommu": _iommu(root, gpus),
        "peermem": _peermem(root),
    }
    return {key: value for key, value in values.items() if value}


def device_settings(root: Path, pci: str, uplinks: Iterable[str]) -> dict[str, str]:
    """The settings of a PCI device: payload, read request, whether a bridge above redirects its peers' traffic, and a NIC's rate."""
    settings = {}
    config = _config(root, pci)
    place = next((place for number, place in _capabilities(config) if number == _PCI_EXPRESS), None)
    if place is not None and len(config) >= place + 10:
        control = int.from_bytes(config[place + 8 : place + 10], "little")
        settings = {"payload": f"{128 << (control >> 5 & 7)} B", "read_request": f"{128 << (control >> 12 & 7)} B"}
    redirects = [redirect for bridge in uplinks if (redirect := _redirects(_config(root, bridge))) is not None]
    if redirects:
        settings["acs"] = "on" if any(redirects) else "off"
    # Of a NIC that speaks InfiniBand's verbs: 400 Gb/sec (4X NDR).
    rates = sorted((root / _DEVICES / pci).glob("infiniband/*/ports/1/rate"))
    return {**settings, "rate": text_or_empty(rates[0])} if rates else settings


def _capabilities(config: bytes) -> Iterator[tuple[int, int]]:
    """The numbers and places of a device's capabilities; none where only root may read them."""
    place, seen = (config[0x34] & 0xFC if len(config) > 64 else 0), set[int]()
    while 64 <= place < len(config) - 1 and place not in seen:
        seen.add(place)
        yield config[place], place
        place = config[place + 1] & 0xFC


def _redirects(config: bytes) -> bool | None:
    """Whether a bridge has ACS redirection on; None where its extended configuration cannot be read."""
    if len(config) <= 256:
        return None
    place, seen = 256, set[int]()
    while 256 <= place <= len(config) - 8 and place not in seen:
        seen.add(place)
        header = int.from_bytes(config[place : place + 4], "little")
        if header & 0xFFFF == _ACS:
            return bool(int.from_bytes(config[place + 6 : place + 8], "little") & _REDIRECT)
        place = header >> 20
    return False


def _config(root: Path, pci: str) -> bytes:
    try:
        return (root / _DEVICES / pci / "config").read_bytes()
    except OSError:
        return b""


def _hypervisor(root: Path) -> str:
    virtual = sysfs.virtual_machine(root)
    if not virtual:
        return "" if virtual is None else "none"
    return text_or_empty(root / "sys/hypervisor/type") or text_or_empty(root / "sys/class/dmi/id/sys_vendor") or "yes"


def _turbo(root: Path) -> str:
    off, boost = text_or_empty(root / _CPUS / "intel_pstate/no_turbo"), text_or_empty(root / _CPUS / "cpufreq/boost")
    return {"0": "on", "1": "off"}.get(off) or {"1": "on", "0": "off"}.get(boost, "")


def _c_states(root: Path) -> str:
    """The names of the enabled states, from the lightest on."""
    folders = list(_of_cpus(root, "cpuidle"))
    by_cpu = []
    for folder in folders:
        states = sorted(folder.glob("state*"), key=lambda state: int(state.name[len("state") :] or 0))
        by_cpu.append(
            "/".join(text_or_empty(state / "name") for state in states if text_or_empty(state / "disable") != "1")
        )
    return _over_cpus(by_cpu) or ("none" if text_or_empty(root / _CPUS / "cpuidle/current_driver") == "none" else "")


def _iommu(root: Path, gpus: Iterable[str]) -> str:
    """``off``, or ``on`` with the kernel's words for how it translates for the GPUs (``identity``, ``DMA``, ``DMA-FQ``)."""
    try:
        units = list((root / "sys/class/iommu").iterdir())
    except OSError:
        return ""
    if not units:
        return "off"
    types = {text_or_empty(root / _DEVICES / pci / "iommu_group/type") for pci in gpus} - {""}
    return f"on ({', '.join(sorted(types))})" if types else "on"


def _peermem(root: Path) -> str:
    modules = root / "sys/module"
    if not (modules / "nvidia").is_dir():
        return ""
    return "loaded" if any((modules / name).is_dir() for name in ("nvidia_peermem", "nv_peer_mem")) else "not loaded"


def _of_cpus(root: Path, name: str) -> Iterator[Path]:
    for cpu in (root / _CPUS).glob("cpu[0-9]*"):
        if re.fullmatch("cpu[0-9]+", cpu.name) and (cpu / name).exists():
            yield cpu / name


def _over_cpus(values: Iterable[str]) -> str:
    """The value of all CPUs; where they differ, each with how many have it."""
    counts = Counter(value for value in values if value).most_common()
    return (
        counts[0][0] if len(counts) == 1 else ", ".join(f"{value} on {plural(count, 'CPU')}" for value, count in counts)
    )
