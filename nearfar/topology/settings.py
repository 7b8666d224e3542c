"""The settings of a machine that cost speed: the table of them, what a node has, and what differs between nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.base import grouped, node_set

from .parts import Node

#: Figures that a setting can explain.
HOST_DEVICE, PEERS, MEMORY = "copies between host and GPU", "copies between GPUs", "host memory"
LATENCY, KERNELS, NETWORK = "latencies", "GPU kernels", "messages between nodes"

#: Up to so many names are listed one by one.
_LISTED_NAMES = 4


@dataclass(frozen=True)
class Setting:
    """A setting that is read with each run."""

    #: Its key in ``Node.settings``, ``Node.software`` or a device's ``settings``.
    key: str
    #: What people call it.
    title: str
    #: Where it is read.
    source: str
    #: The figures that it can explain.
    explains: tuple[str, ...]


SETTINGS = (
    Setting("bios", "BIOS", "/sys/class/dmi/id/bios_version, hwloc", (MEMORY, LATENCY, HOST_DEVICE, PEERS)),
    Setting("hypervisor", "hypervisor", "CPU flags, /sys/hypervisor/type, DMI vendor", (LATENCY, HOST_DEVICE, PEERS, MEMORY)),
    Setting("numa_per_socket", "NUMA nodes per socket (NPS, SNC)", "hwloc", (MEMORY, HOST_DEVICE, LATENCY)),
    Setting("governor", "CPU governor", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", (LATENCY, MEMORY, NETWORK)),
    Setting("turbo", "turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo, cpufreq/boost", (LATENCY, MEMORY)),
    Setting("c_states", "C-states", "/sys/devices/system/cpu/cpu*/cpuidle", (LATENCY, NETWORK)),
    Setting("iommu", "IOMMU", "/sys/class/iommu, type of the GPUs' IOMMU groups", (HOST_DEVICE, PEERS, NETWORK)),
    Setting("acs", "ACS redirection", "PCI configuration of the bridges above (as root)", (PEERS, NETWORK)),
    Setting("payload", "PCIe payload", "PCI configuration, MaxPayload (as root)", (HOST_DEVICE, PEERS, NETWORK)),
    Setting("read_request", "PCIe read request", "PCI configuration, MaxReadReq (as root)", (HOST_DEVICE, NETWORK)),
    Setting("driver", "driver", "NVML, /sys/module/nvidia/version", (HOST_DEVICE, PEERS, KERNELS, LATENCY)),
    Setting("kernel", "kernel", "uname", (HOST_DEVICE, LATENCY, NETWORK)),
    Setting("vbios", "GPU firmware (VBIOS)", "NVML", (KERNELS, HOST_DEVICE, PEERS)),
    Setting("peermem", "nvidia-peermem", "/sys/module/nvidia_peermem", (NETWORK,)),
    Setting("persistence", "persistence mode", "NVML", (LATENCY,)),
    Setting("ecc", "ECC", "NVML", (KERNELS,)),
    Setting("application_clocks", "application clocks", "NVML", (KERNELS,)),
    Setting("power_limit", "power limit", "NVML", (KERNELS,)),
)  # fmt: skip


def setting_values(node: Node) -> dict[str, dict[str, str]]:
    """The node's settings in the order of the table: key -> part (``node``, ``g0``, a NIC's name) -> value. What could not be read is
    absent."""
    devices = {**{f"g{gpu.index}": gpu.settings for gpu in node.gpus}, **{nic.name: nic.settings for nic in node.nics}}
    whole = {**node.software, **node.settings, **_numa_per_socket(node)}
    ecc = {f"g{gpu.index}": "on" if gpu.ecc else "off" for gpu in node.gpus if gpu.ecc is not None}
    values: dict[str, dict[str, str]] = {}
    for setting in SETTINGS:
        own = {"node": whole[setting.key]} if setting.key in whole else {}
        parts = (
            ecc
            if setting.key == "ecc"
            else {part: known[setting.key] for part, known in devices.items() if setting.key in known}
        )
        if own or parts:
            values[setting.key] = {**own, **parts}
    return values


def _numa_per_socket(node: Node) -> dict[str, str]:
    nodes = [numa for numa in node.host_numa_nodes if numa.cpus]
    return {"numa_per_socket": f"{len(nodes) / len(node.packages):g}"} if nodes and node.packages else {}


@dataclass(frozen=True)
class SettingSpread:
    """A setting that is not the same on all nodes."""

    setting: Setting
    #: Each value with the names of its nodes; most nodes first.
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    #: The nodes of which it could not be read.
    unknown: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """``37 of 40 nodes have BIOS 1.4, 3 have 1.2 (node05, node11, node30)``; no names where they are most of the nodes."""
        known = sum(len(names) for _, names in self.groups)
        (value, most), *others = self.groups
        named = "" if 2 * len(most) > known else f" ({_names(most)})"
        clauses = [f"{len(most)} of {known} nodes {_have(most)} {self.setting.title} {value}{named}"]
        clauses += [f"{len(names)} {_have(names)} {value} ({_names(names)})" for value, names in others]
        clauses += [f"not read on {len(self.unknown)} ({_names(self.unknown)})"] if self.unknown else []
        return ", ".join(clauses)


def spread_settings(nodes: Mapping[str, Mapping[str, str]]) -> list[SettingSpread]:
    """The settings that differ between nodes (as ``written_settings`` has them), by their names, in the order of the table; what is the
    same on all is left out."""
    found = (spread(setting, {name: own.get(setting.key) for name, own in nodes.items()}) for setting in SETTINGS)
    return [each for each in found if each is not None]


def spread(setting: Setting, values: Mapping[str, str | None]) -> SettingSpread | None:
    """How a setting differs between nodes (None: it was not read); None where all that is known of it is the same."""
    groups = by_value({name: value for name, value in values.items() if value is not None})
    unknown = tuple(name for name, value in values.items() if value is None)
    return SettingSpread(setting, groups, unknown) if len(groups) > 1 else None


def by_value(values: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each value with the names that have it, that of most names first."""
    groups = grouped((value, name) for name, value in values.items())
    return tuple((value, tuple(names)) for value, names in sorted(groups.items(), key=lambda group: -len(group[1])))


def written_settings(node: Node) -> dict[str, str]:
    """The node's settings as one text each: ``on``; where parts differ ``on, off on g2``, that of most parts first."""
    return {key: _as_one(parts) for key, parts in setting_values(node).items()}


def _as_one(parts: Mapping[str, str]) -> str:
    (usual, _), *others = by_value(parts)
    return ", ".join([usual, *(f"{value} on {' '.join(names)}" for value, names in others)])


def _have(names: tuple[str, ...]) -> str:
    return "has" if len(names) == 1 else "have"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= _LISTED_NAMES else str(node_set(",".join(names)))
