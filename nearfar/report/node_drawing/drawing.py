"""The node drawn as SVG: packages, NUMA nodes, PCIe switches, GPUs, NICs and the links between them, each GPU's link with its rates."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from markupsafe import Markup

from nearfar.report.charts import element, markup, text
from nearfar.report.figures import SIGNS, link_words, number, plural, wording
from nearfar.topology import OWN_LINKS, Gpu, Nic, Node, NumaNode, format_cpu_list

from .arrangement import (
    BETWEEN_PACKAGES,
    GAP,
    PADDING,
    AbsentGpu,
    Column,
    Device,
    PackageBlock,
    RowSide,
    key_of,
    levels,
    row_width,
    switches,
    width_of,
)
from .arrangement import rows as rows_of
from .fabric import FABRIC_HEIGHT, Places, draw_fabric, draw_ring
from .findings import Findings, marked

NUMA_HEIGHT, HEADER, DEVICE_HEIGHT = 52, 24, 62
LINK_HEIGHT, SWITCH_DROP, SWITCH_HEIGHT = 74, 20, 16
SIDE = 46  # room for the package link beside two facing rows


def draw(node: Node, findings: Findings, name: str) -> Markup:
    """The whole drawing; ``name`` makes its ids unique on a page."""
    return _Drawing(node, findings, name).markup()


class _Drawing:
    def __init__(self, node: Node, findings: Findings, name: str) -> None:
        self.node, self.findings = node, findings
        self.switches = switches(node)
        self.levels = levels(self.switches)
        self.sides: list[RowSide] = []  # of each row
        self.edges: list[float] = []  # of each row: where its devices end
        self.left: dict[int, float] = {}  # of each package: its left edge
        self.centre: dict[int, tuple[float, int]] = {}  # of each GPU: x, row
        self.root = element("svg", class_="node", role="img", aria_labelledby=f"{name}-title {name}-desc")
        self.root.append(element("title", f"Node {node.hostname}", id=f"{name}-title"))
        self.root.append(element("desc", self._description(), id=f"{name}-desc"))

    def markup(self) -> Markup:
        rows = rows_of(self.node, self.findings.absent)
        # Two rows face each other, so that what joins their GPUs lies between them.
        facing = len(rows) == 2
        drop = LINK_HEIGHT + _depth(max(self.levels.values(), default=-1))
        package, below = HEADER + NUMA_HEIGHT + PADDING, drop + DEVICE_HEIGHT
        depths = [package + below * any(c.devices for b in row for c in b.columns) for row in rows]
        fabric = FABRIC_HEIGHT if any(link.startswith(OWN_LINKS) for link in self.node.peers.values()) else 0
        margin = SIDE if facing else 4.0
        width = max(row_width(row) for row in rows) + margin + 4
        y = 4.0
        for position, (row, depth) in enumerate(zip(rows, depths)):
            self.sides.append(RowSide(y + depth, -1) if facing and position == 1 else RowSide(y, 1))
            x = margin + (width - margin - 4 - row_width(row)) / 2
            for place, block in enumerate(row):
                if place:
                    self._package_link(row[place - 1], block, x - BETWEEN_PACKAGES)
                self._block(block, x, drop)
                x += block.width + BETWEEN_PACKAGES
            self.edges.append(self.sides[-1].at(depth))
            y += depth + (max(fabric, 24) if not facing or position == 0 else 0)
        if facing:
            self._side_link(rows[0][0], rows[1][0])
        places = Places(self.centre, self.edges, self.sides, self.findings)
        draw_ring(self.root, places)
        draw_fabric(self.root, self.node, places, facing)
        self.root.set("viewBox", f"0 0 {width:.0f} {y + 6:.0f}")
        self.root.set("style", f"max-width:{width:.0f}px;min-width:{0.72 * width:.0f}px")
        return markup(self.root)

    @property
    def side(self) -> RowSide:
        """The row that is being drawn."""
        return self.sides[-1]

    def _block(self, block: PackageBlock, x: float, drop: float) -> None:
        height = HEADER + NUMA_HEIGHT + PADDING
        known = block.index is not None
        # The title stands at the package's outer edge; the NUMA nodes face the devices.
        top = self.side.top(0, height)
        class_ = "package" if known else "package unknown"
        self.root.append(element("rect", x=x, y=top, width=block.width, height=height, rx=8, class_=class_))
        self.root.append(text(x + PADDING, self.side.top(0, HEADER) + 17, block.title, "label"))
        if block.index is not None:
            self.left[block.index] = x
        left = x + PADDING
        for column in block.columns:
            if column.numa is not None:
                self._numa(column.numa, left, self.side.top(HEADER, NUMA_HEIGHT), column.width)
            elif not known:
                self.root.append(text(left, top + height / 2 + 10, "the system does not report where", "small"))
            start = HEADER + NUMA_HEIGHT if column.numa is not None else height
            self._devices(column, left, start, height, drop)
            left += column.width + GAP

    def _numa(self, numa: NumaNode, x: float, y: float, width: float) -> None:
        usable = numa.memory > 0
        restricted = self.node.allowed_numa_nodes is not None and numa.index not in self.node.allowed_numa_nodes
        mark = self.findings.mark(f"n{numa.index}")
        group = element("g", class_=f"numa {mark or ('' if usable else 'empty')}".strip())
        # Where no NUMA node shows any CPU, or a MiB of memory, nobody said how much there is.
        none = "no CPUs" if any(each.cpus for each in self.node.numa_nodes) else "not stated"
        cpus = format_cpu_list(numa.cpus) if numa.cpus else none
        size = wording.gib(numa.memory) if numa.memory >= 2**20 else "size not stated" if usable else "no memory"
        words = f"NUMA node {numa.index}: {size}, CPUs {cpus}" + (", not allowed to this process" if restricted else "")
        group.append(element("title", words))
        group.append(element("rect", x=x, y=y, width=width, height=NUMA_HEIGHT, rx=5))
        group.append(text(x + 10, y + 20, marked(f"NUMA {numa.index}", mark), "strong"))
        if width < 120:
            group.append(text(x + 10, y + 38, size, "small"))
        else:
            group.append(text(x + width - 10, y + 20, size, "small", "end"))
            below = "not allowed here" if restricted else f"CPUs {cpus}"
            group.append(text(x + 10, y + 39, _cut(below, (width - 16) / 6.2), "small"))
        self.root.append(group)

    def _devices(self, column: Column, x: float, start: float, package_end: float, drop: float) -> None:
        total = sum(width_of(d) for d in column.devices) + GAP * (len(column.devices) - 1)
        left = x + (column.width - total) / 2
        near, far = self.side.at(start), self.side.at(package_end + drop)
        box = self.side.top(package_end + drop, DEVICE_HEIGHT)
        bars: dict[str, list[float]] = {}
        for device in column.devices:
            middle = left + width_of(device) / 2
            above = near
            for bridge in (b for b, names in self.switches if key_of(device) in names):
                bars.setdefault(bridge, []).append(middle)
                above = self.side.at(package_end + _depth(self.levels[bridge]))
            if isinstance(device, Gpu):
                self._lanes(device.index, middle, above, far)
            else:
                self._upright(middle, above, far, "wire" if isinstance(device, Nic) else "wire gone")
            if not isinstance(device, Nic):
                self.centre[device.index] = (middle, len(self.sides) - 1)
            title, class_, lines = self._device(device)
            group = element("g", element("title", title), class_=class_)
            group.append(element("rect", x=left, y=box, width=width_of(device), height=DEVICE_HEIGHT, rx=5))
            for offset, words, kind in zip((19, 36, 52), lines, ("strong", "small", "small")):
                group.append(text(middle, box + offset, words, kind, "middle"))
            self.root.append(group)
            left += width_of(device) + GAP
        for bridge, centres in bars.items():
            level = self.levels[bridge]
            above = package_end + _depth(level - 1) if level else start
            self._switch(bridge, centres, above, package_end + _depth(level))

    def _upright(self, x: float, y1: float, y2: float, class_: str) -> None:
        self.root.append(element("line", x1=x, x2=x, y1=y1, y2=y2, class_=class_))

    def _switch(self, bridge: str, centres: list[float], start: float, end: float) -> None:
        height = end - SWITCH_HEIGHT
        y = self.side.top(height, SWITCH_HEIGHT)
        low, high = min(centres) - 26, max(centres) + 26
        middle = (low + high) / 2
        rate = self.findings.uplinks.get(bridge)
        words = f"PCI bridge {bridge}, shared by {', '.join(sorted(dict(self.switches)[bridge]))}"
        words += f", {rate.sentence}" if rate else ""
        self._upright(middle, self.side.at(start), self.side.at(height), "trunk")
        mark = self.findings.mark(f"switch:{bridge}")
        group = element("g", element("title", words), class_=f"switch {mark}".strip())
        group.append(element("rect", x=low, y=y, width=high - low, height=SWITCH_HEIGHT, rx=3))
        short = bridge.split(":", 1)[-1]
        # The longest that fits: name and rate, the rate, the name.
        told = "" if rate is None else rate.slow if mark else rate.words
        label = f"{short}  {told}" if told else short
        choices = [f"uplink {label}", label, *([told] if told else []), short]
        fitting = next((words for words in choices if len(words) * 6.1 < high - low - 12 * bool(mark)), short)
        group.append(text(middle, y + 12, marked(fitting, mark), "small", "middle"))
        self.root.append(group)

    def _device(self, device: Device) -> tuple[str, str, tuple[str, str, str]]:
        """Tooltip, class and the three lines of a device's box."""
        if isinstance(device, Nic):
            link = link_words(device.link)
            lines = "NIC", _cut(device.name, 11), _cut(link, 11) if device.link.gen else ""
            return f"NIC {device.name} at {device.pci}, {link}", "nic", lines
        if isinstance(device, AbsentGpu):
            return device.reason, "gpu ghost", (f"GPU {device.index}", f"{SIGNS['FAIL']} absent", "expected here")
        fault = self.findings.faults.get(device.index)
        verdict = self.findings.mark(f"g{device.index}") if fault is None else fault.verdict
        name = (device.name or "GPU").replace("NVIDIA ", "").replace("AMD Instinct ", "").replace("Tesla ", "")
        link = self.findings.links.get(device.index) or link_words(device.link, most=True)
        words = f"GPU {device.index}: {device.name or 'model unknown'} at {device.pci}, {link}"
        words += "" if fault is None else f". {fault.reason}"
        last = link if device.visible else "hidden from this process"
        return words, f"gpu {verdict}".strip(), (marked(f"GPU {device.index}", verdict), _cut(name, 17), last)

    def _lanes(self, index: int, middle: float, above: float, far: float) -> None:
        lanes = self.findings.lanes.get(index)
        if lanes is None:
            self._upright(middle, above, far, "wire")
            return
        way = self.side.way
        label = far - way * LINK_HEIGHT * 0.42 + 4
        for direction, shift, anchor in (("h2d", -5.0, "end"), ("d2h", 5.0, "start")):
            figure = lanes.get(direction)
            x = middle + shift
            state = figure.shown if figure else "none"
            if state not in ("FAIL", "DEGRADED"):
                state = self.findings.mark(f"g{index}.link", f"g{index}.{direction}") or state
            title = element("title", figure.sentence if figure else "not measured")
            group = element("g", title, class_=f"lane {state}")
            group.append(element("line", x1=x, x2=x, y1=above, y2=far))
            tip, back = (far - way, far - 9 * way) if direction == "h2d" else (above + way, above + 9 * way)
            group.append(element("path", d=f"M{x - 4:.1f} {back:.1f} L{x:.1f} {tip:.1f} L{x + 4:.1f} {back:.1f} z"))
            sign = SIGNS[state] + " " if state in ("FAIL", "DEGRADED", "INDETERMINATE") else ""
            value = number(figure.value, figure.unit) if figure else "none"
            group.append(text(x + (-7 if anchor == "end" else 7), label, sign + value, "rate", anchor))
            self.root.append(group)

    def _side_link(self, a: PackageBlock, b: PackageBlock) -> None:
        """The link between two packages that stand one above the other, along their left sides."""
        if a.index is None or b.index is None:
            return
        ends = [side.at(HEADER + NUMA_HEIGHT / 2) for side in self.sides]
        paths = []
        for shift in (-3, 3):
            inner = [end + shift if way > 0 else end - shift for end, way in zip(ends, (-1, 1))]
            to = f"H{22 + shift} V{inner[1]:.0f} H{self.left[b.index]:.0f}"
            paths.append(element("path", d=f"M{self.left[a.index]:.0f} {inner[0]:.0f} {to}", fill="none"))
        label = self._link(a.index, b.index, paths, 0, 0)
        label.set("transform", f"translate(12 {sum(ends) / 2:.0f}) rotate(-90)")

    def _package_link(self, a: PackageBlock, b: PackageBlock, x: float) -> None:
        if a.index is None or b.index is None:
            return
        middle, end = self.side.at(HEADER + NUMA_HEIGHT / 2), x + BETWEEN_PACKAGES
        lines = [element("line", x1=x, x2=end, y1=middle + shift, y2=middle + shift) for shift in (-3, 3)]
        self._link(a.index, b.index, lines, x + BETWEEN_PACKAGES / 2, middle - 10)

    def _link(self, a: int, b: int, lines: list[ET.Element], x: float, y: float) -> ET.Element:
        """The link between two packages; returns its label."""
        several = "Links between packages; which are direct is not known"
        words = f"The link between packages {a} and {b}" if len(self.node.packages) < 3 else several
        mark = self.findings.mark(f"p{a}-p{b}", f"p{b}-p{a}")
        label = text(x, y, marked("package link", mark), "small", "middle")
        self.root.append(element("g", element("title", words), *lines, label, class_=f"package-link {mark}".strip()))
        return label

    def _description(self) -> str:
        node = self.node
        parts = {"package": node.packages, "host NUMA node": node.host_numa_nodes, "GPU": node.gpus, "NIC": node.nics}
        words = ", ".join(plural(len(found), what) for what, found in parts.items()) + "."
        for index, why in sorted(self.findings.absent.items()):
            words += f" GPU {index} is absent: {why}."
        for index, fault in sorted(self.findings.faults.items()):
            words += f" GPU {index} {fault.verdict}: {fault.reason}."
        return words


def _depth(level: int) -> float:
    """How far below the package the bridges of a level end."""
    return (level + 1) * (SWITCH_DROP + SWITCH_HEIGHT)


def _cut(words: str, length: float) -> str:
    return words if len(words) <= length else words[: max(1, int(length) - 1)] + "…"
