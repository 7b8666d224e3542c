"""A ``Node`` from the XML that ``lstopo --of xml --whole-io`` writes, hwloc formats 2 and 3.

What differs in format 3: the kind of an OS device is a bit mask with other numbers, a PCI device's type has one more
byte (the programming interface), and what is said of the whole machine may stand at the end of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

from nearfar.base import NearfarError

from .bitmaps import format_cpu_list, parse_number
from .hwloc_elements import (
    bitmap,
    distances,
    infos,
    no_repeats,
    number,
    nvlinks_from_distances,
    pci_link,
    xgmi_from_distances,
)
from .parts import Gpu, Link, Nic, Node, NumaNode, Package
from .pci import AMD, amd_name, bus_order, is_gpu, measured_or_all, normal_bus_id

#: A node whose XML names no host.
UNNAMED = "unknown"
_NVIDIA = "10de"
#: ``class [vendor:device] [subvendor:subdevice] revision``, in format 3 with the programming interface behind it.
_PCI_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]")
#: The numbers of the network and OpenFabrics kinds of OS devices: an enumeration in format 2, a bit mask in format 3.
_NETWORK_V2, _OPENFABRICS_V2 = 2, 3
_NETWORK_V3, _OPENFABRICS_V3 = 1 << 4, 1 << 5
#: NVIDIA's device ids of superchips, whose GPU memory Linux shows as NUMA nodes: GH200 234x, GB200 294x, GB300 31cx.
_SUPERCHIP = re.compile("234.|294.|31c.")
#: What the machine says of itself -> the key in ``Node.software``.
_SOFTWARE = {"OSRelease": "kernel", "Architecture": "architecture", "hwlocVersion": "hwloc"}


@dataclass
class _Place:
    """Where an object of the tree hangs: what is above it."""

    package: int | None = None
    cpus: frozenset[int] | None = None
    uplinks: tuple[str, ...] = ()
    host_bridge: str | None = None


@dataclass
class _Device:
    """A PCI device on the way to becoming a GPU or a NIC."""

    element: ElementTree.Element
    pci: str
    vendor: str
    device: str
    place: _Place
    is_gpu: bool
    infos: dict[str, str] = field(default_factory=dict)


def parse_hwloc_xml(text: str, hostname: str | None = None) -> Node:
    """The node that hwloc XML describes; ``hostname`` overrides the one in the file.

    Raises ``NearfarError`` for anything that is not hwloc XML of format 2 or 3.
    """
    return _XmlReader(_topology(text)).node(hostname)


def as_stored(node: Node, text: str, name: str) -> Node:
    """The node of hwloc XML ``text`` that was written on another machine and read from the file ``name``: called like the file where the
    XML names no host, with notes where it was written inside a cpuset or without PCI devices."""
    hostname = Path(name).stem if node.hostname == UNNAMED and name != "-" else node.hostname
    note = "the file holds no PCI devices, so no GPU can be in it: write it with lstopo --of xml --whole-io FILE.xml"
    node = replace(node, hostname=hostname, notes=(*node.notes, *_about_cpuset(node, text)))
    return node if 'type="PCIDev"' in text else replace(node, notes=(*node.notes, note), gpus_unknown=note)


def _about_cpuset(node: Node, text: str) -> Iterator[str]:
    again = "write it outside of a job to have the whole machine"
    if node.allowed_cpus is not None:
        yield f"the file was written inside a cpuset that allows only CPUs {format_cpu_list(node.allowed_cpus)}: {again}"
        return
    # What XML does not show: CPUs that are off, and without --disallowed those that a cpuset disallows.
    machine = _XmlReader(_topology(text)).machine
    if hidden := (bitmap(machine, "complete_cpuset") or frozenset()) - (bitmap(machine, "cpuset") or frozenset()):
        yield f"the file leaves out CPUs {format_cpu_list(hidden)}, which are off, or outside of the cpuset that it was written in: {again}"


def _topology(text: str) -> ElementTree.Element:
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise NearfarError(f"hwloc XML: {error}; write it with: lstopo --of xml --whole-io FILE.xml") from None
    if root.tag != "topology":
        raise NearfarError(f"hwloc XML: the outermost element is <{root.tag}>, not <topology>")
    version = root.get("version", "1")
    if version.split(".")[0] not in ("2", "3"):
        raise NearfarError(
            f"hwloc XML of format {version} (2 and 3 are read); convert it with: lstopo -i FILE.xml --of xml NEW.xml"
        )
    return root


class _XmlReader:
    """One reading of one tree; the methods are steps of ``node`` and run in its order."""

    def __init__(self, root: ElementTree.Element) -> None:
        machine = root.find("object")
        if machine is None or machine.get("type") != "Machine":
            raise NearfarError('hwloc XML: no <object type="Machine"> in it')
        self.root, self.machine = root, machine
        self.newest = root.get("version", "").startswith("3")
        # Format 3 puts at the end of the file what format 2 has in the machine.
        self.infos = {**infos(root), **infos(machine)}
        self.packages: list[Package] = []
        self.cores: list[tuple[int, ...]] = []
        self.numa: list[tuple[ElementTree.Element, int, _Place]] = []
        self.devices: list[_Device] = []

    def node(self, hostname: str | None) -> Node:
        self._walk()
        numa_nodes = self._numa_nodes()
        self._host_numa = [n for n in numa_nodes if n.cpus]
        gpus = self._gpus()
        numa_nodes = self._own_gpu_memory(numa_nodes, gpus)
        gpus, peers = nvlinks_from_distances(self.root, gpus)
        peers = {**xgmi_from_distances(self.root, gpus), **peers}
        gpus = self._coherent_links(gpus, numa_nodes)
        return Node(
            hostname=hostname or self.infos.get("HostName") or UNNAMED,
            packages=tuple(sorted(self.packages, key=lambda p: p.index)),
            numa_nodes=numa_nodes,
            gpus=gpus,
            nics=self._nics(),
            peers=peers,
            distances=distances(self.root, {n.index for n in numa_nodes}),
            product=(self.infos.get("DMIProductName") or self.infos.get("PlatformModel") or "").strip() or None,
            allowed_cpus=self._allowed("cpuset"),
            allowed_numa_nodes=self._allowed("nodeset"),
            cores=tuple(sorted(self.cores)),
            settings={"bios": bios} if (bios := self.infos.get("DMIBIOSVersion", "").strip()) else {},
            software={key: self.infos[name] for name, key in _SOFTWARE.items() if self.infos.get(name)},
        )

    def _walk(self) -> None:
        """Collect packages, NUMA nodes and PCI devices, each with what is above it (no recursion: trees are deep)."""
        whole = bitmap(self.machine, "cpuset")
        stack = [(self.machine, _Place(cpus=whole))]
        while stack:
            element, place = stack.pop()
            element_type = element.get("type", "")
            if element_type == "NUMANode":
                self.numa.append((element, number(element, "os_index", len(self.numa)), place))
            elif element_type == "PCIDev":
                self._device(element, place)
            elif element_type == "Bridge":
                place = _below_bridge(element, place)
            else:
                cpus = bitmap(element, "cpuset")
                place = replace(place, cpus=place.cpus if cpus is None else cpus)
                if element_type == "Package":
                    index = number(element, "os_index", len(self.packages))
                    model = " ".join(infos(element).get("CPUModel", "").split()) or None
                    self.packages.append(Package(index, tuple(sorted(place.cpus or ())), model))
                    place = replace(place, package=index)
                elif element_type == "Core" and cpus is not None and len(cpus) > 1:
                    self.cores.append(tuple(sorted(cpus)))
            stack.extend((child, place) for child in reversed(element.findall("object")))
        self._whole()
        no_repeats([p.index for p in self.packages], "package")
        no_repeats([index for _, index, _ in self.numa], "NUMA node")
        no_repeats([device.pci for device in self.devices], "PCI device")

    def _whole(self) -> None:
        """Refuse a file that leaves out what a cpuset disallowed: it may show one NUMA node where there are several."""
        hidden = (bitmap(self.machine, "complete_nodeset") or frozenset()) - {index for _, index, _ in self.numa}
        cpus, complete = bitmap(self.machine, "cpuset"), bitmap(self.machine, "complete_cpuset")
        if hidden and cpus is not None and complete is not None and complete > cpus:
            raise NearfarError(
                f"hwloc XML: NUMA nodes {format_cpu_list(hidden)} are left out, disallowed by a cpuset; write it with: "
                f"lstopo --of xml --whole-io --disallowed FILE.xml"
            )

    def _device(self, element: ElementTree.Element, place: _Place) -> None:
        match = _PCI_TYPE.match(element.get("pci_type", "").lower())
        if not match:
            return
        pci_class, vendor, device = match.groups()
        facts = infos(element)
        for os_device in element.iter("object"):
            if os_device.get("type") == "OSDev":
                facts.update(infos(os_device))
        pci = normal_bus_id(element.get("pci_busid", ""))
        self.devices.append(_Device(element, pci, vendor, device, place, is_gpu(pci_class, vendor, device), facts))

    def _numa_nodes(self) -> tuple[NumaNode, ...]:
        """Give each CPU to one NUMA node.

        In the XML the cpuset of a node without CPUs is that of the place it is attached to, so it overlaps with its neighbours': the CPUs
        belong to the one without a subtype (HBM, GPUMemory, CXL-DRAM …), the smaller set, the smaller number.
        """
        taken: set[int] = set()
        nodes = []
        ranked = sorted(self.numa, key=lambda n: (bool(n[0].get("subtype")), len(bitmap(n[0], "cpuset") or ()), n[1]))
        for element, index, place in ranked:
            cpus = (bitmap(element, "cpuset") or frozenset()) - taken
            taken |= cpus
            memory = number(element, "local_memory", 0)
            package = place.package if place.package is not None else self._package_of(cpus)
            nodes.append(NumaNode(index, package, tuple(sorted(cpus)), memory))
        return tuple(sorted(nodes, key=lambda n: n.index))

    def _package_of(self, cpus: frozenset[int]) -> int | None:
        """The one package that holds these CPUs, or ``None``."""
        holders = [p.index for p in self.packages if cpus and cpus <= set(p.cpus)]
        return holders[0] if len(holders) == 1 else None

    def _locality(self, place: _Place) -> tuple[int | None, int | None]:
        """NUMA node and package of a device: of the CPUs of the object it is attached to, where these are of exactly one."""
        cpus = place.cpus or frozenset()
        near = [n for n in self._host_numa if cpus.intersection(n.cpus)]
        numa = near[0] if len(near) == 1 else None
        package = place.package if place.package is not None else self._package_of(cpus)
        return (numa.index if numa else None), (numa.package if package is None and numa else package)

    def _gpus(self) -> tuple[Gpu, ...]:
        devices = measured_or_all([d for d in self.devices if d.is_gpu], lambda d: d.vendor)
        devices.sort(key=lambda d: bus_order(d.pci))
        gpus = []
        for index, device in enumerate(devices):
            numa_node, package = self._locality(device.place)
            amd = device.vendor == AMD
            kilobytes = parse_number(device.infos.get("RSMIVRAMSize" if amd else "CUDAGlobalMemorySize", ""))
            unique = device.infos.get("AMDUUID")
            gpus.append(
                Gpu(
                    index=index,
                    pci=device.pci,
                    uuid=f"GPU-{unique}" if amd and unique else device.infos.get("NVIDIAUUID"),
                    # Only the driver's word: the PCI database has other names for the same models.
                    name=(amd_name(device.device) if amd else None) or device.infos.get("GPUModel"),
                    numa_node=numa_node,
                    package=package,
                    link=pci_link(device.element),
                    uplinks=device.place.uplinks,
                    host_bridge=device.place.host_bridge,
                    memory=kilobytes * 1024 if kilobytes else None,
                    serial=device.infos.get("AMDSerial"),
                    vendor="amd" if amd else None,
                )
            )
        return tuple(gpus)

    def _nics(self) -> tuple[Nic, ...]:
        nics = []
        for device in sorted(self.devices, key=lambda d: bus_order(d.pci)):
            name = self._nic_name(device)
            if name:
                numa_node, package = self._locality(device.place)
                link, place = pci_link(device.element), device.place
                nics.append(Nic(name, device.pci, numa_node, package, link, place.uplinks, place.host_bridge))
        return tuple(nics)

    def _nic_name(self, device: _Device) -> str | None:
        """The OpenFabrics name where there is one, else the network's; ``None`` for what is no network device."""
        names: dict[bool, str] = {}
        for child in device.element.iter("object"):
            if child.get("type") == "OSDev":
                device_type = number(child, "osdev_type", -1)
                fabric = bool(device_type & _OPENFABRICS_V3) if self.newest else device_type == _OPENFABRICS_V2
                if fabric or (bool(device_type & _NETWORK_V3) if self.newest else device_type == _NETWORK_V2):
                    names.setdefault(fabric, child.get("name", device.pci))
        return names.get(True) or names.get(False)

    def _own_gpu_memory(self, numa_nodes: tuple[NumaNode, ...], gpus: tuple[Gpu, ...]) -> tuple[NumaNode, ...]:
        """Tell GPU memory from host memory: hwloc's word for it, else, on a superchip, a node without CPUs."""
        subtypes = {index: element.get("subtype", "") for element, index, _ in self.numa}
        addresses = {index: infos(element).get("PCIBusID", "") for element, index, _ in self.numa}
        by_pci = {g.pci: g.index for g in gpus}
        superchips = {d.pci for d in self.devices if d.vendor == _NVIDIA and _SUPERCHIP.fullmatch(d.device)}
        unnamed = [n for n in numa_nodes if not (n.cpus or subtypes[n.index] or addresses[n.index]) and n.memory]
        owners: dict[int, int | None] = {}
        for package in {g.package for g in gpus if g.pci in superchips}:
            chips = [g.index for g in gpus if g.package == package and g.pci in superchips]
            memories = [n.index for n in unnamed if n.package == package]
            known = len(chips) == len(memories)
            owners.update((memory, chips[i] if known else None) for i, memory in enumerate(memories))
        result = []
        for node in numa_nodes:
            if subtypes[node.index] == "GPUMemory" or addresses[node.index]:
                address = addresses[node.index]
                result.append(replace(node, kind="gpu", gpu=by_pci.get(normal_bus_id(address)) if address else None))
            elif node.index in owners:
                result.append(replace(node, kind="gpu", gpu=owners[node.index]))
            else:
                result.append(node)
        return tuple(result)

    def _coherent_links(self, gpus: tuple[Gpu, ...], numa_nodes: tuple[NumaNode, ...]) -> tuple[Gpu, ...]:
        """GPU memory that is a NUMA node is reached over a coherent link: NVLink 2 on POWER9, C2C on Arm. The GPUs
        whose PCI configuration space POWER9 closes are on NVLink too."""
        by_architecture = {"ppc64le": Link("nvlink", gen=2, max_gen=2), "aarch64": Link("c2c")}
        link = by_architecture.get(self.infos.get("Architecture", ""))
        coherent = {g.pci for g in gpus for n in numa_nodes if n.gpu == g.index}
        if link and link.kind == "nvlink":
            coherent |= {d.pci for d in self.devices if d.is_gpu and d.vendor == "0000"}
        if link is None:
            return gpus
        return tuple(replace(g, link=link) if g.pci in coherent and g.link.kind == "pcie" else g for g in gpus)

    def _allowed(self, what: str) -> tuple[int, ...] | None:
        """The machine's allowed set, where it is smaller than the whole one."""
        allowed, whole = bitmap(self.machine, f"allowed_{what}"), bitmap(self.machine, what)
        return None if allowed is None or whole is None or allowed >= whole else tuple(sorted(allowed))


def _below_bridge(element: ElementTree.Element, place: _Place) -> _Place:
    """The place below a bridge: a host bridge (``0-1``) has no bus id of its own and is named by its root bus."""
    if element.get("bridge_type") == "0-1":
        match = re.match(r"([0-9a-f]+):\[([0-9a-f]+)-", element.get("bridge_pci", "").lower())
        return replace(place, host_bridge=f"{match[1]}:{match[2]}" if match else None)
    if element.get("pci_busid"):
        return replace(place, uplinks=(normal_bus_id(element.get("pci_busid", "")), *place.uplinks))
    return place
