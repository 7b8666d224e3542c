"""Writes hwloc XML of nodes that nobody captured: the published node types in ``site/nodes/`` and the constructed captures in
``tests/data/topologies/``. What a source does not publish is said in each file's ``Constructed`` info.

Run ``python -m tests.construct_topologies`` after a change here; a test compares the files with what this writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from xml.sax.saxutils import quoteattr

from nearfar.topology import parse_cpu_list

CHECKOUT = Path(__file__).resolve().parents[2]
NODE_TYPES = CHECKOUT / "site" / "nodes"
CAPTURES = CHECKOUT / "tests" / "data" / "topologies"
GiB = 1 << 30
MiB = 1 << 20


@dataclass
class Pci:
    """A PCI function: ``kind`` is ``class [vendor:device]``, ``speed`` GB/s; ``os`` its (name, subtype, kind number)."""

    bus: str
    kind: str
    speed: float = 0.0
    os: list[tuple[str, str, int]] = field(default_factory=list)
    infos: dict[str, str] = field(default_factory=dict)


@dataclass
class Bridge:
    """A PCI bridge, or with ``bus`` of the form ``0000:[00-0f]`` a host bridge."""

    bus: str
    below: list[Bridge | Pci]
    kind: str = "0604 [10b5:8764]"
    speed: float = 0.0


@dataclass
class Numa:
    """A NUMA node; ``io`` hangs on its CPUs."""

    index: int
    cpus: str
    memory: int
    io: list[Bridge] = field(default_factory=list)
    subtype: str = ""
    infos: dict[str, str] = field(default_factory=dict)


@dataclass
class Package:
    """A package; ``extra`` are its NUMA nodes without CPUs, ``io`` hangs on the package as a whole."""

    index: int
    numa: list[Numa]
    io: list[Bridge] = field(default_factory=list)
    extra: list[Numa] = field(default_factory=list)


@dataclass
class Machine:
    """A whole node; ``nvlink`` are (one name, other name, MB/s) by bus id or ``package<index>``."""

    name: str
    product: str
    source: str
    packages: list[Package]
    io: list[Bridge] = field(default_factory=list)
    distances: list[list[int]] = field(default_factory=list)
    architecture: str = "x86_64"
    threads: int = 1
    nvlink: list[tuple[str, str, int]] = field(default_factory=list)
    allowed: str = ""
    version: str = "2.0"

    def xml(self) -> str:
        return _Writer(self).text()


class _Writer:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.lines: list[str] = []
        self.numbers = count(1)
        self.gp: dict[str, tuple[str, int]] = {}
        self.core = count()

    def text(self) -> str:
        m = self.machine
        numa = [n for p in m.packages for n in [*p.numa, *p.extra]]
        cpus = sorted(c for n in numa for c in parse_cpu_list(n.cpus))
        nodes = [n.index for n in numa]
        self.lines += ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">']
        self.lines.append(f'<topology version="{m.version}">')
        allowed = list(parse_cpu_list(m.allowed)) or cpus
        allowed_nodes = [n.index for n in numa if not n.cpus or set(parse_cpu_list(n.cpus)) & set(allowed)]
        self.open(
            "Machine", cpus, nodes, os_index=0, allowed_cpuset=_bitmap(allowed), allowed_nodeset=_bitmap(allowed_nodes)
        )
        infos = {
            "DMIProductName" if m.architecture == "x86_64" else "PlatformModel": m.product,
            "Constructed": m.source,
            "Backend": "Linux",
            "OSName": "Linux",
            "HostName": m.name,
            "Architecture": m.architecture,
        }
        if m.version.startswith("3"):
            self.infos({"Constructed": m.source, "DMIProductName": m.product})
        else:
            self.infos(infos)
        for package in m.packages:
            self.package(package)
        self.io(m.io)
        self.close()
        self.distances(nodes)
        self.nvlink()
        self.xgmi()
        if m.version.startswith("3"):
            self.infos({k: v for k, v in infos.items() if k not in ("Constructed", "DMIProductName")})
        self.lines.append("</topology>")
        return "\n".join(self.lines) + "\n"

    def open(
        self, object_type: str, cpus: list[int] | None, nodes: list[int], key: str = "", end: str = ">", **more: object
    ) -> None:
        number = next(self.numbers)
        self.gp[key] = (object_type, number)
        attributes: dict[str, object] = {"type": object_type}
        if "os_index" in more:
            attributes["os_index"] = more.pop("os_index")
        if cpus is not None:
            attributes.update(cpuset=_bitmap(cpus), complete_cpuset=_bitmap(cpus))
            attributes.update(nodeset=_bitmap(nodes), complete_nodeset=_bitmap(nodes))
        attributes.update(more, gp_index=number)
        if self.machine.version.startswith("3"):
            attributes["id"] = f"obj{number}"
        written = " ".join(f"{name}={quoteattr(str(value))}" for name, value in attributes.items())
        self.lines.append(f"<object {written}{end}")

    def close(self) -> None:
        self.lines.append("</object>")

    def infos(self, infos: dict[str, str]) -> None:
        self.lines += [f"<info name={quoteattr(k)} value={quoteattr(v)}/>" for k, v in infos.items() if v]

    def package(self, package: Package) -> None:
        cpus = sorted(c for n in package.numa for c in parse_cpu_list(n.cpus))
        nodes = [n.index for n in [*package.numa, *package.extra]]
        self.open("Package", cpus, nodes, f"package{package.index}", os_index=package.index)
        for extra in package.extra:
            self.numa(extra, cpus)
        grouped = len(package.numa) > 1
        for numa in package.numa:
            own = list(parse_cpu_list(numa.cpus))
            if grouped:
                self.open("Group", own, [numa.index], kind=1000, subkind=0)
            self.numa(numa, own)
            threads = self.machine.threads
            for first in range(0, len(own), threads):
                core = own[first : first + threads]
                self.open("Core", core, [numa.index], os_index=next(self.core))
                for cpu in core:
                    self.open("PU", [cpu], [numa.index], os_index=cpu, end="/>")
                self.close()
            self.io(numa.io)
            if grouped:
                self.close()
        self.io(package.io)
        self.close()

    def numa(self, numa: Numa, cpus: list[int]) -> None:
        more = {"subtype": numa.subtype} if numa.subtype else {}
        self.open("NUMANode", cpus, [numa.index], os_index=numa.index, local_memory=numa.memory, **more)
        self.infos(numa.infos)
        self.close()

    def io(self, devices: list[Bridge], depth: int = 0) -> None:
        for device in devices:
            self.device(device, depth)

    def device(self, device: Bridge | Pci, depth: int) -> None:
        newest = self.machine.version.startswith("3")
        tail = "[0000:0000] 00 00" if newest else "[0000:0000] 00"
        if isinstance(device, Pci):
            self.open(
                "PCIDev", None, [], device.bus, pci_busid=device.bus, pci_type=f"{device.kind} {tail}",
                pci_link_speed=f"{device.speed:.6f}",
            )  # fmt: skip
            self.infos(device.infos)
            for name, subtype, number in device.os:
                more = {"subtype": subtype} if subtype else {}
                self.open("OSDev", None, [], f"os {device.bus} {name}", name=name, **more, osdev_type=number)
                if subtype == "RSMI":
                    self.infos({"Backend": "RSMI", "GPUVendor": "AMD", **device.infos})
                if subtype == "NVML":
                    self.infos({"Backend": "NVML", "GPUVendor": "NVIDIA Corporation", **device.infos})
                self.close()
            self.close()
            return
        buses = sorted(_buses(device))
        domain = device.bus.split(":")[0]
        if "[" in device.bus:
            self.open("Bridge", None, [], bridge_type="0-1", depth=depth, bridge_pci=device.bus)
        else:
            self.open(
                "Bridge", None, [], device.bus, bridge_type="1-1", depth=depth,
                bridge_pci=f"{domain}:[{buses[0]}-{buses[-1]}]", pci_busid=device.bus, pci_type=f"{device.kind} {tail}",
                pci_link_speed=f"{device.speed:.6f}",
            )  # fmt: skip
        for below in device.below:
            self.device(below, depth + 1)
        self.close()

    def distances(self, nodes: list[int]) -> None:
        values = [value for row in self.machine.distances for value in row]
        if values:
            indexes, matrix = _words(sorted(nodes)), _words(values)
            self.lines.append(
                f'<distances2 type="NUMANode" nbobjs="{len(nodes)}" kind="5" name="NUMALatency" indexing="os">'
            )
            self.lines.append(f'<indexes length="{len(indexes)}">{indexes}</indexes>')
            self.lines.append(f'<u64values length="{len(matrix)}">{matrix}</u64values>')
            self.lines.append("</distances2>")

    def nvlink(self) -> None:
        """The matrix as an hwloc built with NVML writes it: GPUs by their NVML device, switches by PCI, CPUs by package."""
        if not self.machine.nvlink:
            return
        rates = {(a, b): rate for one, other, rate in self.machine.nvlink for a, b in ((one, other), (other, one))}
        names = list(dict.fromkeys(a for a, _ in rates))
        names.sort(key=lambda name: (name.startswith("package"), name))
        keys = {n: next((k for k in self.gp if k.startswith(f"os {n} nvml")), n) for n in names}
        indexes = _words(f"{self.gp[keys[n]][0]}:{self.gp[keys[n]][1]}" for n in names)
        matrix = _words(1000000 if a == b else rates.get((a, b), 0) for a in names for b in names)
        self.lines.append(f'<distances2hetero nbobjs="{len(names)}" kind="25" name="NVLinkBandwidth">')
        self.lines.append(f'<indexes length="{len(indexes)}">{indexes}</indexes>')
        self.lines.append(f'<u64values length="{len(matrix)}">{matrix}</u64values>')
        self.lines.append("</distances2hetero>")

    def xgmi(self) -> None:
        """The matrix as an hwloc built with RSMI writes it: the same rate for all pairs that xGMI joins."""
        names = sorted((key.split()[2], number) for key, (_, number) in self.gp.items() if " rsmi" in key)
        if names:
            indexes = _words(number for _, number in names)
            matrix = _words(1000000 if a == b else 100000 for a in names for b in names)
            self.lines.append(
                f'<distances2 type="OSDev" nbobjs="{len(names)}" kind="9" name="XGMIBandwidth" indexing="gp">'
            )
            self.lines.append(f'<indexes length="{len(indexes)}">{indexes}</indexes>')
            self.lines.append(f'<u64values length="{len(matrix)}">{matrix}</u64values>')
            self.lines.append("</distances2>")


def _words(values: object) -> str:
    return "".join(f"{value} " for value in values)  # type: ignore[attr-defined]


def _bitmap(numbers: list[int]) -> str:
    value, words = sum(1 << n for n in set(numbers)), []
    while True:
        words.append(f"0x{value & 0xFFFFFFFF:08x}")
        value >>= 32
        if not value:
            return ",".join(reversed(words))


def _buses(bridge: Bridge) -> set[str]:
    buses = set()
    for below in bridge.below:
        buses.add(below.bus.split(":")[1])
        if isinstance(below, Bridge):
            buses |= _buses(below)
    return buses


def gpu(bus: str, device: str, model: str, speed: float, number: int | None = None, uuid: str = "") -> Pci:
    os = [] if number is None else [(f"nvml{number}", "NVML", 1)]
    infos = {**({"GPUModel": model} if model else {}), **({"NVIDIAUUID": uuid} if uuid else {})}
    return Pci(bus, f"0302 [10de:{device}]", speed, os, infos if os else {"PCIDevice": model})


def mlx5(bus: str, number: int, speed: float = 15.753846) -> Pci:
    return Pci(bus, "0207 [15b3:1017]", speed, [(f"ib{number}", "", 2), (f"mlx5_{number}", "", 3)])


def host_bridge(root: str, *below: Bridge | Pci) -> Bridge:
    return Bridge(root, list(below))


def alone(root: str, port: str, device: Pci, speed: float | None = None) -> Bridge:
    """A device behind a root port of a host bridge of its own."""
    return Bridge(root, [Bridge(port, [device], speed=device.speed if speed is None else speed)])


def keeneland() -> Machine:
    def m2070(bus: str, n: int) -> Pci:
        return gpu(bus, "06d2", "Tesla M2070", 8.0, n)

    hca = Pci("0000:05:00.0", "0c06 [15b3:673c]", 4.0, [("ib0", "", 2), ("mlx4_0", "", 3)])
    first = Bridge(
        "0000:[00-0f]",
        [Bridge("0000:00:05.0", [hca], "0604 [8086:340c]", 4.0),
         Bridge("0000:00:07.0", [m2070("0000:06:00.0", 0)], "0604 [8086:340e]", 8.0)],
    )  # fmt: skip
    second = Bridge(
        "0000:[10-1f]",
        [Bridge("0000:10:07.0", [m2070("0000:11:00.0", 1)], "0604 [8086:340e]", 8.0),
         Bridge("0000:10:03.0", [m2070("0000:14:00.0", 2)], "0604 [8086:340a]", 8.0)],
    )  # fmt: skip
    return Machine(
        "keeneland", "ProLiant SL390s G7",
        "from Spafford, Meredith and Vetter, GPGPU-4, 2011; PCI addresses as on other SL390s G7",
        [Package(0, [Numa(0, "0,2,4,6,8,10", 12085 * MiB, [first])]),
         Package(1, [Numa(1, "1,3,5,7,9,11", 12120 * MiB, [second])])],
        distances=[[10, 20], [20, 10]],
    )  # fmt: skip


def dl160() -> Machine:
    gpus = [
        Bridge(f"0000:03:{n:02x}.0", [gpu(f"0000:{4 + n:02x}:00.0", "05e7", "Tesla T10 Processor", 8.0, n)], speed=8.0)
        for n in range(4)
    ]
    hub = host_bridge("0000:[00-07]", Bridge("0000:00:03.0", [Bridge("0000:02:00.0", gpus, speed=8.0)], speed=8.0))
    return Machine(
        "dl160", "ProLiant DL160 G6",
        "from Spafford et al. 2011 and Meredith 2012 (one I/O hub, all GPUs of a Tesla S1070 behind one x16 link); "
        "cores, memory sizes and PCI addresses are not published and stand for any",
        [Package(0, [Numa(0, "0-3", 12 * GiB)]), Package(1, [Numa(1, "4-7", 12 * GiB)])],
        io=[hub], distances=[[10, 20], [20, 10]],
    )  # fmt: skip


def power9(name: str, product: str, gpus_a_package: int, bricks: int, memory: int, nics: bool, source: str) -> Machine:
    packages, nvlink, number = [], [], 0
    for index, domain, first_bus, fabric in ((0, "0004", 4, "0003"), (1, "0035", 3, "0033")):
        io, buses = [], []
        if nics:
            ports = [mlx5(f"{fabric}:01:00.{port}", 2 * index + port) for port in range(2)]
            io.append(Bridge(f"{fabric}:[00-01]", [Bridge(f"{fabric}:00:00.0", list(ports), "0604 [1014:04c1]")]))
        below: list[Bridge | Pci] = []
        for n in range(gpus_a_package):
            bus = f"{domain}:{first_bus + n:02x}:00.0"
            buses.append(bus)
            device = gpu(bus, "1db1", "Tesla V100-SXM2-16GB", 0.0, number)
            below.append(Bridge(f"{domain}:02:{n:02x}.0", [device]))
            number += 1
        io.append(Bridge(f"{domain}:[00-{first_bus + gpus_a_package - 1:02x}]", below))
        nvlink += [(bus, f"package{index}", 25000 * bricks) for bus in buses]
        nvlink += [(a, b, 25000 * bricks) for i, a in enumerate(buses) for b in buses[i + 1 :]]
        cpus = f"{88 * index}-{88 * index + 87}"
        packages.append(Package(index, [Numa(index, cpus, memory, io)]))
    return Machine(
        name,
        product,
        source,
        packages,
        distances=[[10, 40], [40, 10]],
        architecture="ppc64le",
        threads=4,
        nvlink=nvlink,
    )


def summit() -> Machine:
    return power9(
        "summit", "8335-GTX", 3, 2, 256 * GiB, True,
        "from Joubert, Summit Node Bandwidths, 2019, after Vazhkudai et al., SC18; PCI addresses and "
        "NUMA node numbers (the system had 0 and 8) stand for any",
    )  # fmt: skip


def sierra() -> Machine:
    return power9(
        "sierra", "8335-GTW", 2, 3, 128 * GiB, False,
        "from Joubert, Summit Node Bandwidths, 2019, after Vazhkudai et al., SC18; memory sizes, PCI addresses "
        "and NUMA node numbers (the system had 0 and 8) stand for any",
    )  # fmt: skip


def titan() -> Machine:
    k20x = alone("0000:[00-02]", "0000:00:02.0", gpu("0000:02:00.0", "1020", "Tesla K20X", 8.0, 0))
    return Machine(
        "titan", "Cray XK7",
        "from Joubert, Summit Node Bandwidths, 2019 (two 8-core NUMA nodes in one package); which of them is nearer to "
        "the GPU is not published; PCI addresses stand for any",
        [Package(0, [Numa(0, "0-7", 16 * GiB), Numa(1, "8-15", 16 * GiB)], io=[k20x])],
    )  # fmt: skip


def jaguarpf() -> Machine:
    return Machine(
        "jaguarpf", "Cray XT5", "from Joubert, Summit Node Bandwidths, 2019; memory sizes stand for any",
        [Package(0, [Numa(0, "0-5", 8 * GiB)]), Package(1, [Numa(1, "6-11", 8 * GiB)])],
    )  # fmt: skip


def four_numa_a_package(name: str, product: str, source: str, nvlink: int, model: str = "NVIDIA A100") -> Machine:
    """Two packages of four NUMA nodes; a GPU on every second one, NICs behind the switches of GPUs 1 and 3. Without a ``model``
    the GPUs have no name, and no link a speed."""
    packages, buses = [], []
    device, speed = ("20b0", 31.507692) if model else ("0000", 0.0)
    for p in range(2):
        numa = []
        for n in range(4):
            index = 4 * p + n
            io = []
            if index % 2 == 0:
                g = index // 2
                base = 0x20 + 0x20 * g
                bus = f"0000:{base + 3:02x}:00.0"
                buses.append(bus)
                below: list[Bridge | Pci] = [
                    Bridge(f"0000:{base + 2:02x}:00.0", [gpu(bus, device, model, speed, g)], speed=speed)
                ]
                if g in (1, 3):
                    nic = mlx5(f"0000:{base + 4:02x}:00.0", g // 2, speed)
                    below.append(Bridge(f"0000:{base + 2:02x}:04.0", [nic], speed=speed))
                switch = Bridge(f"0000:{base + 1:02x}:00.0", below, "0604 [1000:c010]", speed)
                port = Bridge(f"0000:{base:02x}:01.1", [switch], "0604 [1022:1483]", speed)
                io.append(Bridge(f"0000:[{base:02x}-{base + 4:02x}]", [port]))
            numa.append(Numa(index, f"{12 * index}-{12 * index + 11}", 64 * GiB, io))
        packages.append(Package(p, numa))
    links = [(a, b, 25000 * nvlink) for i, a in enumerate(buses) for b in buses[i + 1 :]] if nvlink else []
    return Machine(name, product, source, packages, nvlink=links)


def pop_four_gpus() -> Machine:
    return four_numa_a_package(
        "pop-four-gpus", "four-GPU node with eight NUMA nodes",
        "from the POP co-design pattern on process and thread mapping to GPUs; that the eight NUMA nodes are in two "
        "packages follows from their number of cores; memory sizes, PCI addresses and ids stand for any; no GPU is named", 6, "",
    )  # fmt: skip


def nvswitch(sockets: int, numa_a_package: int) -> Machine:
    """Eight GPUs, one or two packages of one or two NUMA nodes, four NVSwitches (5, 4, 4, 5 lanes of each GPU), a NIC beside each."""
    nodes = sockets * numa_a_package
    gpus, cores, memory = 8 // nodes, 112 // nodes, 2048 // nodes * GiB
    packages, nvlink = [], []
    switches = [f"0000:{0xA0 + n:02x}:00.0" for n in range(4)]
    for p in range(sockets):
        numa = []
        for n in range(numa_a_package):
            index, io = numa_a_package * p + n, []
            for g in range(gpus * index, gpus * (index + 1)):
                base = 0x10 + 0x10 * g
                bus = f"0000:{base + 3:02x}:00.0"
                uuid = f"GPU-{g:08x}-0000-4000-8000-000000000000"
                device = gpu(bus, "2330", "NVIDIA H100 80GB HBM3", 63.015385, g, uuid)
                nic = mlx5(f"0000:{base + 4:02x}:00.0", g, 63.015385)
                switch = Bridge(
                    f"0000:{base + 1:02x}:00.0",
                    [Bridge(f"0000:{base + 2:02x}:00.0", [device]), Bridge(f"0000:{base + 2:02x}:01.0", [nic])],
                )
                io.append(Bridge(f"0000:[{base:02x}-{base + 4:02x}]", [Bridge(f"0000:{base:02x}:01.0", [switch])]))
                nvlink += [(bus, switch_bus, 25000 * lanes) for switch_bus, lanes in zip(switches, (5, 4, 4, 5))]
            numa.append(Numa(index, f"{cores * index}-{cores * (index + 1) - 1}", memory, io))
        packages.append(Package(p, numa))
    ports: list[Bridge | Pci] = [
        Bridge(f"0000:99:{n:02x}.0", [Pci(b, "0680 [10de:22a3]")]) for n, b in enumerate(switches)
    ]
    packages[-1].io.append(Bridge("0000:[99-a3]", ports))
    near = [[10, 12, 21, 21], [12, 10, 21, 21], [21, 21, 10, 12], [21, 21, 12, 10]]
    distances = {1: [], 2: [[10, 21], [21, 10]], 4: near}[nodes]
    return Machine(
        "constructed", "Constructed NVSwitch node", "for tests", packages, distances=distances, nvlink=nvlink
    )


def grace_hopper() -> Machine:
    """Two superchips as an hwloc that does not know GPU memory shows them: nodes without CPUs, some without memory."""
    packages = []
    for p in range(2):
        device = gpu(f"{9 * p:04x}:01:00.0", "2342", "NVIDIA GH200 480GB", 1.0, p)
        io = [alone(f"{9 * p:04x}:[00-01]", f"{9 * p:04x}:00:00.0", device)]
        memories = [Numa(2 + 8 * p + n, "", 96 * GiB if n == 0 else 0) for n in range(8)]
        packages.append(Package(p, [Numa(p, f"{72 * p}-{72 * p + 71}", 480 * GiB, io)], extra=memories))
    return Machine("constructed", "Constructed GH200 node", "for tests", packages, architecture="aarch64")


def nic_behind_switch() -> Machine:
    """One switch with a GPU and a NIC, a second switch below it with another GPU; a NIC on another host bridge."""
    inner = Bridge("0000:04:00.0", [Bridge("0000:05:00.0", [gpu("0000:06:00.0", "2330", "NVIDIA H100", 63.0, 1)])])
    outer = Bridge(
        "0000:01:00.0",
        [
            Bridge("0000:02:00.0", [gpu("0000:03:00.0", "2330", "NVIDIA H100", 63.0, 0)]),
            Bridge("0000:02:01.0", [inner]),
            Bridge("0000:02:02.0", [mlx5("0000:07:00.0", 0)]),
        ],
    )
    near = Bridge("0000:[00-08]", [Bridge("0000:00:01.0", [outer]), Bridge("0000:00:02.0", [mlx5("0000:08:00.0", 1)])])
    other = alone("0000:[40-41]", "0000:40:01.0", mlx5("0000:41:00.0", 2))
    far = alone("0000:[80-81]", "0000:80:01.0", mlx5("0000:81:00.0", 3))
    return Machine(
        "constructed", "Constructed switch node", "for tests",
        [Package(0, [Numa(0, "0-7", 64 * GiB, [near, other])]), Package(1, [Numa(1, "8-15", 64 * GiB, [far])])],
    )  # fmt: skip


def mixed_width() -> Machine:
    """One GPU at x16 and one at x8 of generation 4."""
    wide = alone("0000:[00-01]", "0000:00:01.0", gpu("0000:01:00.0", "20f1", "NVIDIA A100-PCIE-40GB", 31.507692, 0))
    narrow = alone("0000:[40-41]", "0000:40:01.0", gpu("0000:41:00.0", "20f1", "NVIDIA A100-PCIE-40GB", 15.753846, 1))
    return Machine(
        "constructed", "Constructed mixed-width node", "for tests",
        [Package(0, [Numa(0, "0-7", 64 * GiB, [wide])]), Package(1, [Numa(1, "8-15", 64 * GiB, [narrow])])],
    )  # fmt: skip


def mig() -> Machine:
    """Two GPUs of which the tests' driver puts the second into MIG mode; a display chip of another maker beside them."""
    io = [
        Bridge("0000:[00-03]", [
            Bridge("0000:00:01.0", [gpu("0000:01:00.0", "20b0", "NVIDIA A100-SXM4-40GB", 31.5, 0, "GPU-aaaa0000-1")]),
            Bridge("0000:00:02.0", [gpu("0000:02:00.0", "20b0", "NVIDIA A100-SXM4-40GB", 31.5, 1, "GPU-aaaa1111-1")]),
            Bridge("0000:00:1c.0", [Pci("0000:03:00.0", "0300 [1a03:2000]")]),
        ])
    ]  # fmt: skip
    return Machine("constructed", "Constructed MIG node", "for tests", [Package(0, [Numa(0, "0-7", 64 * GiB, io)])])


def cpuless_memory() -> Machine:
    """Two packages, a GPU each; node 2 is memory without CPUs behind package 1 (CXL), node 3 CPUs without memory."""
    first = alone("0000:[00-01]", "0000:00:01.0", gpu("0000:01:00.0", "2331", "NVIDIA H100 PCIe", 63.0, 0))
    second = alone("0000:[80-81]", "0000:80:01.0", gpu("0000:81:00.0", "2331", "NVIDIA H100 PCIe", 63.0, 1))
    return Machine(
        "constructed", "Constructed CXL node", "for tests",
        [Package(0, [Numa(0, "0-3", 64 * GiB, [first]), Numa(3, "8-11", 0)]),
         Package(1, [Numa(1, "4-7", 64 * GiB, [second])], extra=[Numa(2, "", 128 * GiB)])],
        distances=[[10, 21, 24, 11], [21, 10, 14, 21], [24, 14, 10, 24], [11, 21, 24, 10]],
    )  # fmt: skip


def unknown_locality() -> Machine:
    """Two NUMA nodes, and a GPU of which the firmware does not report where it hangs."""
    io = [alone("0000:[00-01]", "0000:00:01.0", gpu("0000:01:00.0", "2331", "NVIDIA H100 PCIe", 63.0, 0))]
    return Machine(
        "constructed", "Constructed node of unknown locality", "for tests",
        [Package(0, [Numa(0, "0-3", 64 * GiB)]), Package(1, [Numa(1, "4-7", 64 * GiB)])], io=io,
    )  # fmt: skip


def restricted() -> Machine:
    """Two packages, of which a cpuset allows only half the CPUs of the second."""
    first = alone("0000:[00-01]", "0000:00:01.0", gpu("0000:01:00.0", "20f1", "NVIDIA A100-PCIE-40GB", 31.5, 0))
    second = alone("0000:[80-81]", "0000:80:01.0", gpu("0000:81:00.0", "20f1", "NVIDIA A100-PCIE-40GB", 31.5, 1))
    return Machine(
        "constructed", "Constructed node in a cpuset", "for tests",
        [Package(0, [Numa(0, "0-3", 64 * GiB, [first])]), Package(1, [Numa(1, "4-7", 64 * GiB, [second])])],
        allowed="6-7",
    )  # fmt: skip


def virtual_machine() -> Machine:
    """Four GPUs in a guest that shows one NUMA node and no locality."""
    devices: list[Bridge | Pci] = [gpu(f"0000:00:{3 + n:02x}.0", "2335", "NVIDIA H200", 0.0, n) for n in range(4)]
    return Machine(
        "constructed", "", "for tests", [Package(0, [Numa(0, "0-63", 256 * GiB)])], io=[Bridge("0000:[00-00]", devices)]
    )


def format_three() -> Machine:
    """hwloc format 3: kinds of OS devices as a bit mask, one more byte in PCI types, infos at the end of the file."""
    device = Pci("0000:01:00.0", "0302 [10de:2330]", 63.0, [("nvml0", "NVML", 4)], {"GPUModel": "NVIDIA H100"})
    nic = Pci("0000:02:00.0", "0207 [15b3:1021]", 63.0, [("ib0", "", 16), ("mlx5_0", "", 32)])
    io = [Bridge("0000:[00-02]", [Bridge("0000:00:01.0", [device]), Bridge("0000:00:02.0", [nic])])]
    return Machine(
        "constructed", "Constructed format 3 node", "for tests",
        [Package(0, [Numa(0, "0-3", 64 * GiB, io)]), Package(1, [Numa(1, "4-7", 64 * GiB)])],
        distances=[[10, 21], [21, 10]], version="3.0",
    )  # fmt: skip


def mi250x() -> Machine:
    """Four MI250X, two dies each, at one package of four NUMA nodes, a NIC beside the second die of each; a management VGA.

    Places, ids and xGMI are those of https://github.com/LLNL/mpibind, topo-xml/eas-tioga.xml; cores are fewer.
    """
    places = {0: (4, "d1", 5, "d6"), 1: (2, "c9", 3, "ce"), 2: (6, "d9", 7, "de"), 3: (0, "c1", 1, "c6")}
    numa = []
    for index, (first, bus, second, other) in places.items():

        def die(number: int, at: str, board: int = index) -> Pci:
            infos = {"GPUModel": "AMD INSTINCT MI200 (MCM) OAM LC MBA HPE C2", "AMDSerial": f"69213700000{board}"}
            infos |= {"AMDUUID": f"{number:016x}", "RSMIVRAMSize": "67092480"}
            return Pci(f"0000:{at}:00.0", "0380 [1002:7408]", 31.507692, [(f"rsmi{number}", "RSMI", 1)], infos)

        beside = f"{int(other, 16) - 1:02x}"
        nic = Pci(f"0000:{beside}:00.0", "0200 [17db:0501]", 31.507692, [(f"hsi{first // 2}", "", 2)])
        root = Bridge(f"0000:00:{index + 1:02x}.3", [die(second, other)])
        io = [alone(f"0000:[{bus}-{bus}]", f"0000:00:{index + 1:02x}.1", die(first, bus)),
              Bridge(f"0000:[{beside}-{other}]", [Bridge(f"0000:00:{index + 1:02x}.2", [nic]), root])]  # fmt: skip
        numa.append(Numa(index, f"{2 * index}-{2 * index + 1}", 125 * GiB, io))
    vga = alone("0000:[01-02]", "0000:01:00.0", Pci("0000:02:00.0", "0300 [1a03:2000]", 0.0))
    numa[0].io.append(vga)
    far = [[10 if a == b else 12 for b in range(4)] for a in range(4)]
    return Machine("constructed", "Constructed MI250X node", "for tests", [Package(0, numa)], distances=far)


def files() -> dict[Path, str]:
    """Every file that this module writes."""
    types = (keeneland(), dl160(), summit(), sierra(), titan(), jaguarpf(), pop_four_gpus())
    captures = {
        "eight-gpus-nvswitch": nvswitch(2, 1),
        "eight-gpus-nvswitch-one-numa": nvswitch(1, 1),
        "eight-gpus-nvswitch-subnuma": nvswitch(2, 2),
        "four-numa-a-package": four_numa_a_package("constructed", "Constructed four-NUMA node", "for tests", 0),
        "grace-hopper": grace_hopper(),
        "nic-behind-gpu-switch": nic_behind_switch(),
        "mixed-x8-x16": mixed_width(),
        "mig": mig(),
        "cpuless-memory": cpuless_memory(),
        "unknown-locality": unknown_locality(),
        "restricted-cpuset": restricted(),
        "virtual-machine-4gpus": virtual_machine(),
        "hwloc-format-3": format_three(),
        "mi250x": mi250x(),
    }
    written = {NODE_TYPES / f"{machine.name}.xml": machine.xml() for machine in types}
    written.update({CAPTURES / f"constructed-{name}.xml": machine.xml() for name, machine in captures.items()})
    return written


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
