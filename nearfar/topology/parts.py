"""What a node is made of: packages, NUMA nodes, GPUs, NICs and the links between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

#: Kinds of links as people name them.
LINK_KINDS = {"pcie": "PCIe", "nvlink": "NVLink", "c2c": "C2C"}
#: What is true of every AMD GPU.
NOT_MEASURED = "AMD GPUs are described, not measured, by this build"


@dataclass(frozen=True)
class Package:
    """A processor package (socket). ``index`` is the operating system's number, ``model`` the CPU's name (``None``: not known)."""

    index: int
    cpus: tuple[int, ...]
    model: str | None = None


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node, by the operating system's number.

    ``memory`` is in bytes (0: a node without memory). ``cpus`` are the node's own CPUs (empty: a node without CPUs).
    ``kind`` is ``host`` or ``gpu`` (GPU memory shown as a NUMA node, which is never host memory); ``gpu`` is that GPU's
    index where it is known. ``peak`` is what its memory carries at most, reads and writes together, in GB/s (``None``: not known).
    """

    index: int
    package: int | None
    cpus: tuple[int, ...]
    memory: int
    kind: str = "host"
    gpu: int | None = None
    peak: float | None = None


@dataclass(frozen=True)
class Link:
    """A device's link to the host. ``kind`` is ``pcie``, ``nvlink`` or ``c2c``.

    ``gen`` and ``width`` are the present state (idle GPUs show a low generation), ``max_gen`` and ``max_width`` what
    device and slot allow. For ``nvlink`` to the host, ``gen`` is the NVLink generation and ``width`` the number of
    lanes ("bricks"). ``speed`` is GB/s in each direction where a source gives the product of the two alone, as hwloc
    does (4.0 is x16 of generation 1 and x8 of generation 2: the two are not told apart). ``None``: not known.
    """

    kind: str = "pcie"
    gen: int | None = None
    width: int | None = None
    max_gen: int | None = None
    max_width: int | None = None
    speed: float | None = None

    @property
    def nominal(self) -> Link:
        """The link as device and slot allow it, whatever its present state (an idle GPU shows a low generation)."""
        return replace(self, gen=self.max_gen or self.gen, width=self.max_width or self.width)


@dataclass(frozen=True)
class Gpu:
    """A GPU; ``index`` counts in PCI bus order over all the node's GPUs, visible or not.

    ``uplinks`` are the PCI bus ids of the bridges above it, nearest first; devices with a common entry share that uplink. ``host_bridge``
    is the root bus above them (``0000:00``). ``nvlinks`` is the number of active NVLink lanes to other GPUs or switches, ``memory`` is in
    bytes. ``fault`` says in words why the driver could not answer for it ("GPU is lost"). ``settings``: see ``SETTINGS``. ``slot`` is the
    chassis' name of the place that it, or the board that it is on, sits in. ``vendor`` is ``amd`` where it is not NVIDIA's: a GPU that is
    described, not measured; its dies that share a package have one ``serial``. ``None``: not known.
    """

    index: int
    pci: str
    uuid: str | None = None
    name: str | None = None
    numa_node: int | None = None
    package: int | None = None
    link: Link = field(default_factory=Link)
    uplinks: tuple[str, ...] = ()
    host_bridge: str | None = None
    nvlink_generation: int | None = None
    nvlinks: int | None = None
    memory: int | None = None
    mig: bool | None = None
    ecc: bool | None = None
    visible: bool = True
    serial: str | None = None
    fault: str | None = None
    settings: dict[str, str] = field(default_factory=dict, hash=False)
    slot: str | None = None
    vendor: str | None = None


@dataclass(frozen=True)
class Nic:
    """A network device, with the NUMA node and package it is attached to; ``settings``: see ``SETTINGS``. ``paths``: the class of its
    path to each GPU, where the system gives that instead of bridges."""

    name: str
    pci: str
    numa_node: int | None = None
    package: int | None = None
    link: Link = field(default_factory=Link)
    uplinks: tuple[str, ...] = ()
    host_bridge: str | None = None
    settings: dict[str, str] = field(default_factory=dict, hash=False)
    paths: dict[int, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Node:
    """One machine.

    ``peers`` maps a sorted pair of GPU indices to its link (``NV18``); pairs that are not in it are classed by their place in the PCI tree.
    ``distances`` maps (NUMA node, NUMA node) to the ACPI distance. ``allowed_cpus`` and ``allowed_numa_nodes`` are what the cpuset of the
    process that looked permits (``None``: no restriction known). ``cores`` are the hardware threads of each core that has several; every
    other CPU is a core of its own. ``virtual_machine``: whether it runs under a hypervisor (``None``: nobody looked). ``settings``: what of
    the whole machine costs speed (``SETTINGS``); what could not be read is absent. ``notes`` are sentences about what could not be read,
    and why. ``gpus_unknown``: that of them which says why nothing is known of the GPUs, which no document keeps.
    """

    hostname: str
    packages: tuple[Package, ...]
    numa_nodes: tuple[NumaNode, ...]
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] = ()
    peers: dict[tuple[int, int], str] = field(default_factory=dict)
    distances: dict[tuple[int, int], int] = field(default_factory=dict)
    product: str | None = None
    allowed_cpus: tuple[int, ...] | None = None
    allowed_numa_nodes: tuple[int, ...] | None = None
    software: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    cores: tuple[tuple[int, ...], ...] = ()
    virtual_machine: bool | None = None
    notes: tuple[str, ...] = ()
    gpus_unknown: str | None = field(default=None, compare=False)

    @property
    def host_numa_nodes(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes that are host memory: not GPU memory, and not without memory."""
        return tuple(n for n in self.numa_nodes if n.kind == "host" and n.memory > 0)

    @property
    def not_measured(self) -> str | None:
        """Why none of its GPUs can be measured; ``None`` where they can, or there are none."""
        return NOT_MEASURED if self.gpus and all(gpu.vendor == "amd" for gpu in self.gpus) else None

    def numa_node(self, index: int) -> NumaNode | None:
        """The NUMA node with the operating system's number ``index``, or ``None``."""
        return next((n for n in self.numa_nodes if n.index == index), None)

    def peer(self, a: int, b: int) -> str:
        """What ``peers`` has of two GPUs in either order; empty where it has nothing."""
        return self.peers.get((min(a, b), max(a, b)), "")

    def gpu(self, index: int) -> Gpu | None:
        """GPU ``index``, or ``None``."""
        return next((g for g in self.gpus if g.index == index), None)
