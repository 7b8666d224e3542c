"""Where each part of a node stands on its drawing.

A device stands below the NUMA node that the system says it belongs to; where the system does not say, below its package, or
apart. Bridges are those whose uplink several devices share, at every level.
"""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.report.figures import plural
from nearfar.topology import Gpu, Nic, Node, NumaNode, shared_uplinks

GPU_WIDTH, NIC_WIDTH, GAP, PADDING = 108, 74, 12, 12
BETWEEN_PACKAGES, ROW_WIDTH = 96, 1500


@dataclass(frozen=True)
class AbsentGpu:
    """A GPU that should be there and is not."""

    index: int
    reason: str


Device = Gpu | Nic | AbsentGpu


@dataclass(frozen=True)
class Column:
    """A NUMA node and the devices below it; None: devices below the package alone."""

    numa: NumaNode | None
    devices: list[Device]
    least: float

    @property
    def width(self) -> float:
        """The room it takes."""
        widths = [width_of(device) for device in self.devices]
        return max(self.least, sum(widths) + GAP * (len(widths) - 1) + 8 if widths else 0)


@dataclass(frozen=True)
class PackageBlock:
    """A package, or (index None) the devices whose place is not known."""

    index: int | None
    title: str
    columns: list[Column]

    @property
    def width(self) -> float:
        """The room it takes."""
        return sum(c.width for c in self.columns) + GAP * (len(self.columns) - 1) + 2 * PADDING


def width_of(device: Device) -> float:
    """The width of a device's box."""
    return NIC_WIDTH if isinstance(device, Nic) else GPU_WIDTH


def key_of(device: Device) -> str:
    """``g0``, or a NIC's name: what bridges list."""
    return device.name if isinstance(device, Nic) else f"g{device.index}"


@dataclass(frozen=True)
class RowSide:
    """A row's own heights: measured from ``base``, downwards (way 1), or upwards (way -1) in a row that is turned over."""

    base: float
    way: int

    def at(self, height: float) -> float:
        """The place on the drawing of a point at ``height`` in the row."""
        return self.base + self.way * height

    def top(self, height: float, depth: float) -> float:
        """The upper edge on the drawing of a box that begins at ``height`` and is ``depth`` high."""
        return min(self.at(height), self.at(height + depth))


def switches(node: Node) -> list[tuple[str, frozenset[str]]]:
    """Bridges whose uplink GPUs share with other devices, the outermost first; those of one tree lie within each other."""
    gpus = {f"g{gpu.index}" for gpu in node.gpus}
    found = [(bridge, frozenset(names)) for bridge, names in shared_uplinks(node).items() if gpus & set(names)]
    return sorted(found, key=lambda pair: -len(pair[1]))


def levels(bridges: list[tuple[str, frozenset[str]]]) -> dict[str, int]:
    """How many shared bridges lie between each bridge and the host."""
    return {bridge: sum(names < others for _, others in bridges) for bridge, names in bridges}


def rows(node: Node, absent: dict[int, str]) -> list[list[PackageBlock]]:
    """Packages side by side, as many in a row as there is room for. ``absent`` are GPUs that should be there, with the reason."""
    found: list[list[PackageBlock]] = [[]]
    for block in _blocks(node, absent):
        if found[-1] and row_width([*found[-1], block]) > ROW_WIDTH:
            found.append([])
        found[-1].append(block)
    return found


def row_width(row: list[PackageBlock]) -> float:
    """The width of packages side by side."""
    return sum(block.width for block in row) + BETWEEN_PACKAGES * (len(row) - 1)


def _blocks(node: Node, absent: dict[int, str]) -> list[PackageBlock]:
    bridges = switches(node)
    hosts = [n for n in node.numa_nodes if n.kind == "host"]
    devices: list[Device] = [*node.gpus, *node.nics]
    present = {gpu.index for gpu in node.gpus}
    ghosts: list[Device] = [AbsentGpu(i, why) for i, why in sorted(absent.items()) if i not in present]
    homes = sorted({p.index for p in node.packages} | {n.package for n in hosts if n.package is not None})
    least = 76.0 if len(hosts) > 10 else 124.0
    blocks, placed = [], set()
    for package in homes or [0]:
        sole_home = len(homes) <= 1
        mine = [n for n in hosts if n.package == package or (sole_home and n.package is None)]
        below = {n.index: [d for d in devices if getattr(d, "numa_node", None) == n.index] for n in mine}
        known = {id(d) for each in below.values() for d in each}
        homes_of = (package, None) if sole_home else (package,)
        loose = [d for d in devices if id(d) not in known and getattr(d, "package", None) in homes_of]
        if sole_home:
            loose += ghosts
            ghosts = []
        if len(mine) == 1:
            below[mine[0].index] += loose
            loose = []
        columns = [Column(n, _ordered(bridges, below[n.index]), least) for n in sorted(mine, key=lambda n: n.index)]
        if loose or not columns:
            columns.append(Column(None, _ordered(bridges, loose), least if not loose else 0))
        placed |= {id(d) for column in columns for d in column.devices}
        cpus = sum(len(p.cpus) for p in node.packages if p.index == package) or sum(len(n.cpus) for n in mine)
        named = f"Package {package}" if node.packages else "packages not stated"
        title = named + (f" · {plural(cpus, 'CPU')}" if cpus else "")
        blocks.append(PackageBlock(package, title, columns))
    rest = [d for d in devices if id(d) not in placed] + ghosts
    if rest:
        blocks.append(PackageBlock(None, "place unknown", [Column(None, _ordered(bridges, rest), 200.0)]))
    return blocks


def _ordered(bridges: list[tuple[str, frozenset[str]]], devices: list[Device]) -> list[Device]:
    """By PCI address, devices behind one switch side by side at every level, absent GPUs at their number."""

    def place(device: Device) -> tuple[tuple[int, int, str], ...]:
        above = [names for _, names in bridges if key_of(device) in names]
        return (*(min(own(d) for d in devices if key_of(d) in names) for names in above), own(device))

    def own(device: Device) -> tuple[int, int, str]:
        return (1, 0, device.pci) if isinstance(device, Nic) else (0, device.index, "")

    return sorted(devices, key=place)
