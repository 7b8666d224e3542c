"""The class of every path through a node: which memory is near a GPU, how devices are joined, who shares an uplink."""

from __future__ import annotations

import re

from nearfar.base import NearfarError

from .parts import Gpu, Nic, Node, NumaNode

#: Classes of host flows, and of pairs of devices beside ``NV<lanes>``.
HOST_CLASSES = {
    "near": "host memory of the GPU's own NUMA node",
    "on_socket": "host memory of another NUMA node of the GPU's package",
    "off_socket": "host memory of another package",
    "sole": "host memory of a node with a single NUMA node",
    "unknown": "the system does not say where the GPU or the memory is",
}
PEER_CLASSES = {
    "XGMI": "two GPUs joined by AMD's xGMI",
    "PIX": "behind one PCIe switch",
    "PXB": "behind several PCIe switches",
    "PHB": "behind one PCIe host bridge",
    "NODE": "behind different host bridges of a NUMA node",
    "SYS_on": "on different NUMA nodes of a package",
    "SYS_off": "on different packages",
    "unknown": "the system does not say how they are joined",
}
#: What classes of pairs with a link of their own begin with; all others go through the host.
OWN_LINKS = ("NV", "XGMI")
#: The class of what stays within one GPU's memory.
LOCAL_CLASS = "device_local"


def host_class(node: Node, numa: int, gpu: int) -> str:
    """The class of a flow between host memory of NUMA node ``numa`` and GPU ``gpu``.

    ``unknown`` wherever the system does not say: the GPU's place is never guessed. A node with one host NUMA node has
    nothing to tell apart, so there every path is ``sole``.
    """
    memory, device = _numa(node, numa), _gpu(node, gpu)
    if [n.index for n in node.host_numa_nodes] == [numa]:
        return "sole"
    if device.numa_node == numa:
        return "near"
    if device.package is not None and memory.package is not None and device.package != memory.package:
        return "off_socket"
    if device.numa_node is None or device.package is None or memory.package is None:
        return "unknown"
    return "on_socket"


def peer_class(node: Node, a: int, b: int) -> str:
    """The class of the path between two GPUs: ``NV<lanes>``, else by their place in the PCI tree."""
    gpu, peer = _gpu(node, a), _gpu(node, b)
    if a == b:
        raise NearfarError(f"GPU {a} and itself are not a pair")
    return node.peer(a, b) or _device_class(node, gpu, peer)


def nic_class(node: Node, gpu: int, nic_name: str) -> str:
    """The class of the path between a GPU and a NIC, as the NIC has it, else by their place in the PCI tree."""
    nic = next((n for n in node.nics if n.name == nic_name), None)
    if nic is None:
        known = ", ".join(n.name for n in node.nics) or "none"
        raise NearfarError(f"{node.hostname} has no NIC {nic_name}; it has: {known}")
    return nic.paths.get(gpu) or _device_class(node, _gpu(node, gpu), nic)


def behind_nvswitch(node: Node) -> tuple[int, ...]:
    """The GPUs whose NVLink lanes go to a switch: they have lanes, and not each of them leads to one known peer."""

    def direct(gpu: Gpu) -> int:
        lanes = [link for pair, link in node.peers.items() if gpu.index in pair]
        return sum(int(link[2:]) for link in lanes if re.fullmatch(r"NV\d+", link))

    return tuple(gpu.index for gpu in node.gpus if gpu.nvlinks and not 0 < direct(gpu) <= gpu.nvlinks)


def shared_uplinks(node: Node) -> dict[str, tuple[str, ...]]:
    """The PCI bridges with several devices behind them: bus id -> their names (``g0``, NICs by name), outermost last.

    A bridge whose devices are those of one below it is left out: the nearest is where they come together. So are GPUs
    that reach the host another way than over PCI Express.
    """
    behind: dict[str, list[str]] = {}
    devices: list[tuple[str, tuple[str, ...]]] = [
        (f"g{g.index}", g.uplinks) for g in node.gpus if g.link.kind == "pcie"
    ]
    devices += [(n.name, n.uplinks) for n in node.nics]
    depth: dict[str, int] = {}
    for name, uplinks in devices:
        for position, bridge in enumerate(uplinks):
            behind.setdefault(bridge, []).append(name)
            depth[bridge] = max(depth.get(bridge, 0), position)
    shared: dict[str, tuple[str, ...]] = {}
    for bridge in sorted(behind, key=lambda b: (depth[b], b)):
        names = tuple(behind[bridge])
        if len(names) > 1 and names not in shared.values():
            shared[bridge] = names
    return shared


def _device_class(node: Node, a: Gpu | Nic, b: Gpu | Nic) -> str:
    """As ``nvidia-smi topo -m`` has them, with SYS split: within a package, or from one to another.

    PIX: one switch or bridge at most; PXB: several; PHB: one host bridge; NODE: one NUMA node.
    """
    common = next((bridge for bridge in a.uplinks if bridge in b.uplinks), None)
    if common is not None:
        # A switch counts once though it shows two bridges, its upstream port and the device's downstream port.
        return "PIX" if max(a.uplinks.index(common), b.uplinks.index(common)) <= 1 else "PXB"
    if a.host_bridge is not None and a.host_bridge == b.host_bridge:
        return "PHB"
    if a.numa_node is not None and b.numa_node is not None:
        if a.numa_node == b.numa_node:
            return "NODE"
        if a.package is not None and b.package is not None:
            return "SYS_on" if a.package == b.package else "SYS_off"
    if a.package is not None and b.package is not None and a.package != b.package:
        return "SYS_off"
    return "NODE" if len(node.host_numa_nodes) == 1 else "unknown"


def _numa(node: Node, index: int) -> NumaNode:
    memory = node.numa_node(index)
    if memory is None or memory.kind != "host":
        known = ", ".join(f"n{n.index}" for n in node.host_numa_nodes) or "none"
        raise NearfarError(f"{node.hostname} has no host memory n{index}; it has: {known}")
    return memory


def _gpu(node: Node, index: int) -> Gpu:
    device = node.gpu(index)
    if device is None:
        known = ", ".join(f"g{g.index}" for g in node.gpus) or "none"
        raise NearfarError(f"{node.hostname} has no GPU g{index}; it has: {known}")
    return device
