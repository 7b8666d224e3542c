"""What was ordered: the files of ``site/orders/``, and the node that one describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nearfar.base import (
    NodeListError,
    SiteFile,
    SiteFileError,
    did_you_mean,
    listed_twice,
    named_site_file,
    node_set,
    plural,
    short_host_name,
)
from nearfar.question import find
from nearfar.topology import Gpu, Node, NumaNode, Package

from .expectations import filled, overlaid
from .systems import Partition, System

#: Versions that differ from node to node and explain nothing.
NEVER_ORDERED = ("hwloc", "architecture")
#: Bytes that a channel of host memory moves at once.
_CHANNEL = 8


@dataclass(frozen=True)
class Promise:
    """A figure that the offer promises on a ``page``: at least ``value`` of a rate, at most of a time, in ``unit``. ``row`` names it as a
    reference file does."""

    check: str
    row: str
    value: float
    unit: str
    page: str


@dataclass(frozen=True)
class Order:
    """A file of ``site/orders/``."""

    name: str
    #: The document that was signed.
    offer: str
    #: How many nodes were ordered.
    count: int
    #: What each node has, by the keys of ``expect`` in a system file.
    expect: Mapping[str, Any]
    #: Host names as the history has them (short, lower case); None: the order does not name its nodes.
    nodes: tuple[str, ...] | None = None
    system: str | None = None
    partition: str | None = None
    #: As the firmware names the machine.
    product: str | None = None
    #: GB/s that the host memory of one package carries at most; None: not known.
    memory_peak: float | None = None
    #: Memory channels of each package; None: not known.
    memory_channels: int | None = None
    #: Versions by the names of ``Node.software``.
    software: Mapping[str, str] = field(default_factory=dict)
    #: Serial numbers of the GPUs by node.
    serials: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    promised: tuple[Promise, ...] = ()
    file: Path | None = None


def load(name: str, directories: Sequence[Path]) -> Order:
    """The order of that name. Raises ``NearfarError``, with file and line for what is wrong in its file."""
    return from_file(named_site_file("orders", name, list(directories)))


def from_file(file: SiteFile) -> Order:
    """The order that a file describes. Raises ``SiteFileError`` where it contradicts itself."""
    file.check("order-1")
    data, path = file.data, file.path
    nodes = _nodes(file)
    if nodes is not None and len(nodes) != data["count"]:
        raise file.error(f"nodes: {len(nodes)} hosts, but count is {data['count']}", "nodes")
    channels = data.get("memory_channels")
    return Order(
        data["order"], data["offer"], data["count"], data["expect"], nodes, data.get("system"), data.get("partition"), data.get("product"),
        None if channels is None else channels["count"] * channels["rate"] * _CHANNEL / 1000,
        None if channels is None else channels["count"], data.get("software", {}), _serials(file, nodes), tuple(_promises(file)), path,
    )  # fmt: skip


def misnamed(file: SiteFile) -> SiteFileError | None:
    """That an order has another name than its file; None where both are the same."""
    name, path = file.data["order"], file.path
    words = f"order: '{name}' in a file called {path.name}; use one name for both"
    return file.error(words, "order") if name != path.stem else None


def _nodes(file: SiteFile) -> tuple[str, ...] | None:
    names: dict[str, None] = {}
    for index, pattern in enumerate(file.data.get("nodes", ())):
        try:
            listed = [short_host_name(str(name)).lower() for name in node_set(pattern)]
        except NodeListError as error:
            raise file.error(f"nodes: '{pattern}': {error}", "nodes", index) from None
        twice = next((name for name in listed if name in names), listed_twice(pattern))
        if twice is not None:
            raise file.error(f"nodes: {twice} is listed twice; remove one", "nodes", index)
        names.update(dict.fromkeys(listed))
    return tuple(names) or None


def _serials(file: SiteFile, nodes: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    gpus = file.data["expect"].get("gpus")
    for name, serials in file.data.get("serials", {}).items():
        own = short_host_name(name).lower()
        if nodes is not None and own not in nodes:
            raise file.error(f"serials: {name} is not among nodes", "serials", name)
        if gpus is not None and len(serials) != gpus:
            raise file.error(
                f"serials: {name}: {plural(len(serials), 'serial number')}, but gpus is {gpus}", "serials", name
            )
        for serial in serials:
            if serial in seen:
                raise file.error(f"serials: {serial} is listed twice", "serials", name)
            seen.add(serial)
        found[own] = tuple(serials)
    return found


def _promises(file: SiteFile) -> list[Promise]:
    found = []
    for check, figures in file.data.get("promised", {}).items():
        if find(check) is None:
            from nearfar.verdict.references import known_checks

            hint = did_you_mean(check, list(known_checks()))
            raise file.error(f"promised: no check is called '{check}'{hint}", "promised", check)
        found += [Promise(check, row, each["value"], each["unit"], str(each["page"])) for row, each in figures.items()]
    return found


def partition_of(order: Order, system: System | None) -> Partition | None:
    """The partition of its system that an order is for: the one that it names, else the first; None: there is none."""
    partitions = {} if system is None else system.partitions
    return partitions.get(order.partition) if order.partition else next(iter(partitions.values()), None)


def described(order: Order, models: Mapping[str, Mapping[str, Any]], node: Node | None = None) -> Node:
    """The node that an order describes: ``node``, as its system's files have it, with what the order says of it; where there is none, one
    that is made of the order and of what its GPU model always has (``models``). GPUs lie evenly on its NUMA nodes."""
    made = node or _made(order.expect)
    made = overlaid(filled(overlaid(made, {"gpu_model": order.expect.get("gpu_model")}), models), order.expect)
    lanes, generation = order.expect.get("nvlinks"), order.expect.get("nvlink_generation")
    gpus = tuple(
        replace(gpu, nvlinks=lanes or gpu.nvlinks, nvlink_generation=generation or gpu.nvlink_generation) for gpu in made.gpus
    )  # fmt: skip
    peers = made.peers or {
        (gpu.index, peer.index): f"NV{gpu.nvlinks}" for gpu in gpus for peer in gpus if gpu.index < peer.index and gpu.nvlinks
    }  # fmt: skip
    numa_nodes = made.numa_nodes
    if order.memory_peak is not None and made.packages:
        peak = order.memory_peak * len(made.packages) / max(1, len(made.host_numa_nodes))
        numa_nodes = tuple(replace(numa, peak=peak if numa.kind == "host" else None) for numa in numa_nodes)
    return replace(made, gpus=gpus, peers=peers, numa_nodes=numa_nodes)


def _made(expect: Mapping[str, Any]) -> Node:
    listed, packages = expect.get("numa_nodes"), expect.get("packages", 2)
    numbers = list(range(listed or packages)) if listed is None or isinstance(listed, int) else listed
    many, gpus = len(numbers), expect.get("gpus", 0)

    def package(at: int) -> int:
        return at * int(packages) // many

    numa_nodes = tuple(
        NumaNode(number, package(at), (2 * at, 2 * at + 1), expect.get("memory", 1 << 40) // many)
        for at, number in enumerate(numbers)
    )
    places = [index * many // gpus for index in range(gpus)]
    return Node(
        hostname="ordered", numa_nodes=numa_nodes,
        packages=tuple(Package(i, tuple(c for n in numa_nodes if n.package == i for c in n.cpus)) for i in range(packages)),
        gpus=tuple(
            Gpu(i, f"0000:{i + 1:02x}:00.0", numa_node=numbers[at], package=package(at)) for i, at in enumerate(places)
        ),
    )  # fmt: skip
