"""One ``Node`` out of three witnesses: hwloc for the tree, NVML for what the driver knows, sysfs for links and gaps."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from nearfar.base import text_or_empty
from nearfar.topology import Gpu, Link, Node, NumaNode, bus_order, format_cpu_list, parse_hwloc_xml

from . import host_settings, sysfs
from .dimms import with_memory_peaks
from .lstopo import describes_another_machine, lstopo_xml
from .nvml import DriverGpu, DriverReport, read_driver
from .visibility import visible_gpus


def observe(
    xml_text: str | None = None,
    *,
    nvml: Any = None,
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
) -> Node:
    """The node that this process runs on.

    ``xml_text`` (or ``HWLOC_XMLFILE``, unless ``HWLOC_THISSYSTEM=1`` says that the file is of this machine) describes another machine: then
    nothing of this one is added, except from a driver that is passed as ``nvml`` (a stand-in for ``pynvml``) or from another ``root``.
    """
    env = os.environ if environment is None else environment
    stored = xml_text is not None or describes_another_machine(env)
    node = parse_hwloc_xml(lstopo_xml(env) if xml_text is None else xml_text)
    if not stored:
        node = replace(node, hostname=socket.gethostname())
    if not stored or root != Path("/"):
        node = _with_kernel(node, root)
    if stored and nvml is None:
        return node
    report = DriverReport() if node.not_measured else read_driver([gpu.pci for gpu in node.gpus], nvml)
    node = _with_driver(node, report)
    stamp = _driver_stamp(report) if stored else _stamp(report, root)
    node = replace(node, software={**node.software, **stamp})
    return _with_visibility(node, report, env)


def gpus_without_hwloc(nvml: Any, root: Path = Path("/")) -> tuple[Gpu, ...]:
    """NVIDIA's GPUs by sysfs, and where that shows none (a sandbox) by the driver: ``nvml`` is ``pynvml``, or None where it does not
    answer."""
    gpus = tuple(gpu for gpu in sysfs.gpu_pci_devices(root) if gpu.vendor is None)
    if gpus or nvml is None:
        return gpus
    report = read_driver(nvml=nvml)
    return tuple(Gpu(index=i, pci=pci) for i, pci in enumerate(sorted(report.gpus, key=bus_order)))


def _stamp(report: DriverReport, root: Path) -> dict[str, str]:
    """The versions that a figure depends on, of the kernel, the operating system and the driver; what is absent from the machine is absent
    here."""
    versions = {
        "driver": sysfs.driver_version(root),
        "kernel": platform.release(),
        "os": _os_name(root),
        "architecture": platform.machine(),
    }
    return {**{key: value for key, value in versions.items() if value}, **_driver_stamp(report)}


def _driver_stamp(report: DriverReport) -> dict[str, str]:
    firmware = sorted({gpu.vbios for gpu in report.gpus.values() if gpu.vbios})
    versions = {"driver": report.driver, "cuda": report.cuda, "vbios": ", ".join(firmware)}
    return {key: value for key, value in versions.items() if value}


def _os_name(root: Path) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', text_or_empty(root / "etc/os-release"), re.MULTILINE)
    return match[1] if match else None


def _with_kernel(node: Node, root: Path) -> Node:
    """Fill what hwloc left open: GPUs that it did not list, links, localities, the CPUs of each node, GPU memory."""
    listed = {gpu.pci: gpu for gpu in node.gpus}
    listed.update({gpu.pci: gpu for gpu in sysfs.gpu_pci_devices(root) if gpu.pci not in listed})
    ordered = sorted(listed.values(), key=lambda gpu: bus_order(gpu.pci))
    # hwloc counted without the GPUs that it did not list, and so did its NVLink pairs.
    renumbered = {gpu.index: i for i, gpu in enumerate(ordered) if gpu in node.gpus}
    peers = {tuple(sorted((renumbered[a], renumbered[b]))): link for (a, b), link in node.peers.items()}
    numa_nodes = _numa_nodes(node, root, {gpu.pci: i for i, gpu in enumerate(ordered)}, renumbered)
    node = replace(node, numa_nodes=numa_nodes, peers={(pair[0], pair[1]): link for pair, link in peers.items()})
    gpus = tuple(
        _placed(node, replace(gpu, index=i, slot=sysfs.slot(root, gpu.pci, gpu.uplinks)), root)
        for i, gpu in enumerate(ordered)
    )
    nics = tuple(_placed(node, nic, root) for nic in node.nics)
    product, virtual = node.product or sysfs.product_name(root), sysfs.virtual_machine(root)
    settings = {**node.settings, **host_settings.node_settings(root, [gpu.pci for gpu in gpus])}
    node = replace(node, gpus=gpus, nics=nics, product=product, virtual_machine=virtual, settings=settings)
    return with_memory_peaks(node, root)


def _numa_nodes(
    node: Node, root: Path, by_pci: Mapping[str, int], renumbered: Mapping[int, int]
) -> tuple[NumaNode, ...]:
    cpus, owners = sysfs.numa_cpus(root), sysfs.gpu_memory_nodes(root)
    result = []
    for numa in node.numa_nodes:
        numa = replace(
            numa, cpus=cpus.get(numa.index, numa.cpus), gpu=renumbered.get(-1 if numa.gpu is None else numa.gpu)
        )
        if numa.index in owners and not numa.cpus:
            numa = replace(numa, kind="gpu", gpu=by_pci.get(owners[numa.index]))
        result.append(numa)
    return tuple(result)


def _placed(node: Node, device: Any, root: Path) -> Any:
    """A GPU or NIC with its link from sysfs and, where hwloc did not know its place, the kernel's word for it."""
    link = sysfs.pci_link(root, device.pci, device.uplinks)
    device = replace(device, settings=host_settings.device_settings(root, device.pci, device.uplinks))
    if device.link.kind == "pcie":
        device = replace(device, link=replace(link, speed=device.link.speed))
    if device.numa_node is None:
        place = sysfs.device_numa_node(root, device.pci)
        numa = None if place is None else node.numa_node(place)
        if numa is not None and numa.kind == "host":
            device = replace(device, numa_node=numa.index)
    if device.package is None and device.numa_node is not None:
        numa = node.numa_node(device.numa_node)
        device = replace(device, package=numa.package if numa is not None else None)
    return device


def _with_driver(node: Node, report: DriverReport) -> Node:
    """Add what the driver says to each GPU, and the pairs that NVLink joins."""
    notes = [*node.notes, *([report.note] if report.note else [])]
    unlisted = [Gpu(index=len(node.gpus), pci=pci) for pci in report.gpus if pci not in {gpu.pci for gpu in node.gpus}]
    if unlisted:
        notes.append("only the driver lists the GPUs at " + ", ".join(gpu.pci for gpu in unlisted))
        node = _renumbered(node, unlisted)
    gpus = []
    for gpu in node.gpus:
        driver = report.gpus.get(gpu.pci)
        gpus.append(gpu if driver is None else _merged(gpu, driver))
        if driver is not None and driver.fault:
            notes.append(f"GPU {gpu.index} at {gpu.pci} does not answer the driver: {driver.fault}")
        elif driver is not None and not driver.shown:
            notes.append(f"GPU {gpu.index} at {gpu.pci}: the driver does not show it to this process")
    peers = {**node.peers, **_peers(node, report)}
    return replace(node, gpus=tuple(gpus), peers=peers, notes=tuple(notes), gpus_unknown=report.note)


def _renumbered(node: Node, more: list[Gpu]) -> Node:
    """The node with further GPUs, all counted anew in PCI bus order."""
    ordered = sorted([*node.gpus, *more], key=lambda gpu: bus_order(gpu.pci))
    new = {gpu.index: i for i, gpu in enumerate(ordered) if gpu not in more}
    return replace(
        node,
        gpus=tuple(replace(gpu, index=i) for i, gpu in enumerate(ordered)),
        peers={(new[a], new[b]): link for (a, b), link in node.peers.items()},
        numa_nodes=tuple(n if n.gpu is None else replace(n, gpu=new[n.gpu]) for n in node.numa_nodes),
    )


def _merged(gpu: Gpu, driver: DriverGpu) -> Gpu:
    known = {key: getattr(driver, key) for key in ("uuid", "name", "memory", "mig", "ecc", "nvlinks", "fault")}
    return replace(
        gpu, **{key: value for key, value in known.items() if value not in (None, "")}, serial=driver.serial,
        link=_merged_link(gpu.link, driver.link), settings={**gpu.settings, **driver.settings},
        nvlink_generation=driver.nvlink_generation if driver.nvlinks else gpu.nvlink_generation,
    )  # fmt: skip


def _merged_link(link: Link, driver: Link | None) -> Link:
    """The driver's word before sysfs', figure by figure; a coherent link to the host before PCI Express."""
    if driver is None or (driver.kind == "pcie" and link.kind != "pcie"):
        return link
    if driver.kind != "pcie":
        return driver
    return replace(link, **{key: value for key, value in vars(driver).items() if value is not None})


def _peers(node: Node, report: DriverReport) -> dict[tuple[int, int], str]:
    """The pairs that NVLink joins: their common lanes, or through NVSwitches the lanes of the one that has fewer."""
    joined = {}
    for a, b in combinations([g for g in node.gpus if g.pci in report.gpus], 2):
        gpu, peer = report.gpus[a.pci], report.gpus[b.pci]
        lanes = max(gpu.to_gpus.get(b.pci, 0), peer.to_gpus.get(a.pci, 0)) or min(gpu.to_switches, peer.to_switches)
        if lanes:
            joined[a.index, b.index] = f"NV{lanes}"
    return joined


def _with_visibility(node: Node, report: DriverReport, env: Mapping[str, str]) -> Node:
    drivers = [report.gpus[gpu.pci] for gpu in node.gpus if gpu.pci in report.gpus and not gpu.fault]
    visible = visible_gpus([gpu for gpu in drivers if gpu.shown], env)
    seen = {gpu.index for gpu in node.gpus if gpu.pci in visible or not report.gpus}
    notes = list(node.notes)
    if env.get("CUDA_VISIBLE_DEVICES") is not None and node.gpus:
        names = ", ".join(f"g{i}" for i in sorted(seen)) or "none"
        notes.append(f"CUDA_VISIBLE_DEVICES={env['CUDA_VISIBLE_DEVICES']} leaves to CUDA programs: {names}")
    if node.allowed_cpus is not None:
        notes.append(f"a cpuset (container or cgroup) allows only CPUs {format_cpu_list(node.allowed_cpus)}")
    gpus = tuple(replace(gpu, visible=gpu.index in seen) for gpu in node.gpus)
    return replace(node, gpus=gpus, notes=tuple(notes))
