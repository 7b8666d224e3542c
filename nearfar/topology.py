"""What a node is made of: packages, NUMA nodes, GPUs, NICs, the bridges between them, and the class of every path.

Pure: built from hwloc XML text or from a document's ``node`` object, never from the machine that runs this code.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Package:
    """A processor package (socket). ``index`` is the operating system's number."""

    index: int
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node, by the operating system's number.

    ``memory`` is in bytes (0: a node without memory). ``kind`` is ``host`` or ``gpu`` (GPU memory shown as a NUMA node,
    which is never host memory); ``gpu`` is that GPU's index where it is known.
    """

    index: int
    package: int | None
    cpus: tuple[int, ...]
    memory: int
    kind: str = "host"
    gpu: int | None = None


@dataclass(frozen=True)
class Link:
    """A device's link to the host. ``kind`` is ``pcie``, ``nvlink`` or ``c2c``.

    ``gen`` and ``width`` are the present state (idle GPUs show a low generation), ``max_gen`` and ``max_width`` what device and
    slot allow. For ``nvlink`` to the host, ``gen`` is the NVLink generation and ``width`` the number of lanes ("bricks").
    ``None``: not known.
    """

    kind: str = "pcie"
    gen: int | None = None
    width: int | None = None
    max_gen: int | None = None
    max_width: int | None = None


@dataclass(frozen=True)
class Gpu:
    """A GPU; ``index`` counts in PCI bus order over all the node's GPUs, visible or not.

    ``uplinks`` are the PCI bus ids of the bridges above it, nearest first; devices with a common entry share that uplink.
    ``nvlinks`` is the number of active NVLink lanes to other GPUs or switches, ``None`` where not known.
    """

    index: int
    pci: str
    uuid: str | None = None
    name: str | None = None
    numa_node: int | None = None
    package: int | None = None
    link: Link = field(default_factory=Link)
    uplinks: tuple[str, ...] = ()
    nvlink_generation: int | None = None
    nvlinks: int | None = None
    memory: int | None = None
    mig: bool | None = None
    ecc: bool | None = None
    visible: bool = True


@dataclass(frozen=True)
class Nic:
    """A network device, with the NUMA node and package it hangs on."""

    name: str
    pci: str
    numa_node: int | None = None
    package: int | None = None
    link: Link = field(default_factory=Link)
    uplinks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """One machine.

    ``peers`` maps a sorted pair of GPU indices to its link (``NV18``); pairs that are not in it are classed by their place in the
    PCI tree. ``distances`` maps (NUMA node, NUMA node) to the ACPI distance. ``allowed_cpus`` and ``allowed_numa_nodes`` are what
    the cpuset of the process that looked permits (``None``: no restriction known).
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

    @property
    def host_numa_nodes(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes that are host memory: not GPU memory, and not without memory."""
        return tuple(n for n in self.numa_nodes if n.kind == "host" and n.memory > 0)
