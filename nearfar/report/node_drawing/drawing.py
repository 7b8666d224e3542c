"""The node drawn as SVG: packages, NUMA nodes, PCIe switches, GPUs, NICs and the links between them, each GPU's link with its rates."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from markupsafe import Markup

from nearfar.report.charts import element, markup, text
from nearfar.report.figures import SIGNS, gib, link_words, number, plural
from nearfar.topology import Gpu, Nic, Node, NumaNode, format_cpu_list

from .arrangement import (
    BETWEEN_PACKAGES,
    GAP,
    GPU_WIDTH,
    NIC_WIDTH,
    PADDING,
    AbsentGpu,
    Column,
    PackageBlock,
    RowSide,
    key_of,
    levels,
    row_width,
    switches,
    width_of,
)
from .arrangement import rows as rows_of
from .fabric import FABRIC_HEIGHT, Places, draw_fabric
from .findings import Findings, LinkDirection, marked

NUMA_HEIGHT, HEADER, DEVICE_HEIGHT = 52, 24, 62
LINK_HEIGHT, SWITCH_DROP, SWITCH_HEIGHT = 74, 20, 16
SIDE = 46  # room for the package link beside two facing rows


def draw(node: Node, findings: Findings, name: str) -> Markup:
    """The whole drawing; ``name`` makes its ids unique on a page."""
    return _Drawing(node, findings, name).markup()


class _Drawing:
    def __init__(self, node: Node, findings: Findings, name: str) -> None:
        self.node, self.findings, self.name = node, findings, name
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
        depths = [
            HEADER
            + NUMA_HEIGHT
            + PADDING
            + (drop + DEVICE_HEIGHT if any(c.devices for b in row for c in b.columns) else 0)
            for row in rows
        ]
        fabric = FABRIC_HEIGHT if any(link.startswith("NV") for link in self.node.peers.values()) else 0
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
        draw_fabric(self.root, self.node, Places(self.centre, self.edges, self.sides, self.findings), facing)
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
        self.root.append(
            element(
                "rect",
                x=x,
                y=top,
                width=block.width,
                height=height,
                rx=8,
                class_="package" if known else "package unknown",
            )
        )
        self.root.append(text(x + PADDING, self.side.top(0, HEADER) + 17, block.title, "label"))
        if block.index is not None:
            self.left[block.index] = x
        left = x + PADDING
        for column in block.columns:
            if column.numa is not None:
                self._numa(column.numa, left, self.side.top(HEADER, NUMA_HEIGHT), column.width)
            elif not known:
                self.root.append(text(left, top + height / 2 + 10, "the system does not say where", "small"))
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
        size = gib(numa.memory) if numa.memory >= 2**20 else "size not stated" if usable else "no memory"
        words = f"NUMA node {numa.index}: {size}, CPUs {cpus}" + (", not allowed to this process" if restricted else "")
        group.append(element("title", words))
        group.append(element("rect", x=x, y=y, width=width, height=NUMA_HEIGHT, rx=5))
        group.append(text(x + 10, y + 20, marked(f"NUMA {numa.index}", mark), "strong"))
        narrow = width < 120
        limited = self.findings.limits.get(f"n{numa.index}.memory", 0)
        if narrow:
            group.append(text(x + 10, y + 38, size, "small"))
        else:
            group.append(text(x + width - 10, y + 20, size, "small", "end"))
            below = (
                f"memory limits {plural(limited, 'cell')}"
                if limited
                else "not allowed here"
                if restricted
                else f"CPUs {cpus}"
            )
            group.append(text(x + 10, y + 39, _cut(below, (width - 16) / 6.2), "small limit" if limited else "small"))
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
            if isinstance(device, Nic):
                self._nic(device, left, middle, above, far, box)
            else:
                self._gpu(device, left, middle, above, far, box)
                self.centre[device.index] = (middle, len(self.sides) - 1)
            left += width_of(device) + GAP
        for bridge, centres in bars.items():
            level = self.levels[bridge]
            self._switch(
                bridge, centres, package_end + _depth(level - 1) if level else start, package_end + _depth(level)
            )

    def _switch(self, bridge: str, centres: list[float], start: float, end: float) -> None:
        height = end - SWITCH_HEIGHT
        y = self.side.top(height, SWITCH_HEIGHT)
        low, high = min(centres) - 26, max(centres) + 26
        middle = (low + high) / 2
        limited = sum(self.findings.limits.get(f"switch:{bridge}.{way}", 0) for way in ("up", "down", "both"))
        rate = self.findings.uplinks.get(bridge)
        words = (
            f"PCI bridge {bridge}, shared by {', '.join(sorted(next(n for b, n in self.switches if b == bridge)))}"
            + (f", {rate.sentence}" if rate else "")
            + (f", limits {plural(limited, 'cell')}" if limited else "")
        )
        self.root.append(
            element("line", x1=middle, x2=middle, y1=self.side.at(start), y2=self.side.at(height), class_="trunk")
        )
        mark = self.findings.mark(f"switch:{bridge}")
        group = element("g", element("title", words), class_=f"switch {mark or ('limited' if limited else '')}".strip())
        group.append(element("rect", x=low, y=y, width=high - low, height=SWITCH_HEIGHT, rx=3))
        short = bridge.split(":", 1)[-1]
        # The longest that fits: name and rate, the rate, the name.
        told = "" if rate is None else rate.slow if mark else rate.words
        label = f"{short}  {told}" if told else short
        choices = [f"uplink {label}", label, *([told] if told else []), short]
        fitting = next((words for words in choices if len(words) * 6.1 < high - low - 12 * bool(mark)), short)
        group.append(text(middle, y + 12, marked(fitting, mark), "small", "middle"))
        self.root.append(group)

    def _nic(self, nic: Nic, x: float, middle: float, above: float, far: float, top: float) -> None:
        self.root.append(element("line", x1=middle, x2=middle, y1=above, y2=far, class_="wire"))
        group = element("g", element("title", f"NIC {nic.name} at {nic.pci}, {link_words(nic.link)}"), class_="nic")
        group.append(element("rect", x=x, y=top, width=NIC_WIDTH, height=DEVICE_HEIGHT, rx=5))
        group.append(text(middle, top + 19, "NIC", "strong", "middle"))
        group.append(text(middle, top + 36, _cut(nic.name, 11), "small", "middle"))
        group.append(text(middle, top + 52, _cut(link_words(nic.link), 11) if nic.link.gen else "", "small", "middle"))
        self.root.append(group)

    def _gpu(self, gpu: Gpu | AbsentGpu, x: float, middle: float, above: float, far: float, top: float) -> None:
        if isinstance(gpu, AbsentGpu):
            self.root.append(element("line", x1=middle, x2=middle, y1=above, y2=far, class_="wire gone"))
            group = element("g", element("title", gpu.reason), class_="gpu ghost")
            lines = [f"GPU {gpu.index}", f"{SIGNS['FAIL']} absent", "expected here"]
        else:
            self._lanes(gpu.index, middle, above, far)
            fault = self.findings.faults.get(gpu.index)
            verdict = self.findings.mark(f"g{gpu.index}") if fault is None else fault.verdict
            name = (gpu.name or "GPU").replace("NVIDIA ", "").replace("Tesla ", "")
            link = self.findings.links.get(gpu.index) or link_words(gpu.link, most=True)
            words = f"GPU {gpu.index}: {gpu.name or 'model unknown'} at {gpu.pci}, {link}"
            sentence = words if fault is None else f"{words}. {fault.reason}"
            group = element("g", element("title", sentence), class_=f"gpu {verdict}".strip())
            lines = [
                marked(f"GPU {gpu.index}", verdict),
                _cut(name, 17),
                "hidden from this process" if not gpu.visible else link,
            ]
        group.append(element("rect", x=x, y=top, width=GPU_WIDTH, height=DEVICE_HEIGHT, rx=5))
        for offset, words, class_ in zip((19, 36, 52), lines, ("strong", "small", "small")):
            group.append(text(middle, top + offset, words, class_, "middle"))
        self.root.append(group)

    def _lanes(self, index: int, middle: float, above: float, far: float) -> None:
        lanes = self.findings.lanes.get(index, {})
        if not lanes:
            self.root.append(element("line", x1=middle, x2=middle, y1=above, y2=far, class_="wire"))
            return
        way = self.side.way
        label = far - way * LINK_HEIGHT * 0.42 + 4
        for direction, shift, anchor in (("h2d", -5.0, "end"), ("d2h", 5.0, "start")):
            lane = lanes.get(direction, LinkDirection(reason="not measured"))
            x = middle + shift
            state = lane.figure.shown if lane.figure else "none"
            if state not in ("FAIL", "DEGRADED"):
                state = self.findings.mark(f"g{index}.link", f"g{index}.{direction}") or state
            group = element(
                "g", element("title", lane.figure.sentence if lane.figure else lane.reason), class_=f"lane {state}"
            )
            group.append(element("line", x1=x, x2=x, y1=above, y2=far))
            tip, back = (far - way, far - 9 * way) if direction == "h2d" else (above + way, above + 9 * way)
            group.append(element("path", d=f"M{x - 4:.1f} {back:.1f} L{x:.1f} {tip:.1f} L{x + 4:.1f} {back:.1f} z"))
            sign = SIGNS[state] + " " if state in ("FAIL", "DEGRADED", "INDETERMINATE") else ""
            value = number(lane.figure.value, lane.figure.unit) if lane.figure else "none"
            group.append(text(x + (-7 if anchor == "end" else 7), label, sign + value, "rate", anchor))
            self.root.append(group)

    def _side_link(self, a: PackageBlock, b: PackageBlock) -> None:
        """The link between two packages that stand one above the other, along their left sides."""
        if a.index is None or b.index is None:
            return
        group, limited, label_words = self._link_group(a.index, b.index)
        ends = [side.at(HEADER + NUMA_HEIGHT / 2) for side in self.sides]
        for shift in (-3, 3):
            x = 22 + shift
            inner = [end + shift if way > 0 else end - shift for end, way in zip(ends, (-1, 1))]
            path = f"M{self.left[a.index]:.0f} {inner[0]:.0f} H{x} V{inner[1]:.0f} H{self.left[b.index]:.0f}"
            group.append(element("path", d=path, fill="none"))
        words = label_words + (f", limits {plural(limited, 'cell')}" if limited else "")
        label = text(0, 0, words, "small limit" if limited else "small", "middle")
        label.set("transform", f"translate(12 {sum(ends) / 2:.0f}) rotate(-90)")
        group.append(label)
        self.root.append(group)

    def _link_group(self, a: int, b: int) -> tuple[ET.Element, int, str]:
        """The link between two packages, how many cells it limits, and its label."""
        limited = sum(self.findings.limits.get(way, 0) for way in (f"p{a}-p{b}", f"p{b}-p{a}"))
        between = (
            f"The link between packages {a} and {b}"
            if len(self.node.packages) < 3
            else "Links between packages; which are direct is not known"
        )
        words = between + (f" limits {plural(limited, 'cell')}" if limited else "")
        mark = self.findings.mark(f"p{a}-p{b}", f"p{b}-p{a}")
        class_ = f"package-link {mark or ('limited' if limited else '')}".strip()
        return element("g", element("title", words), class_=class_), limited, marked("package link", mark)

    def _package_link(self, a: PackageBlock, b: PackageBlock, x: float) -> None:
        if a.index is None or b.index is None:
            return
        group, limited, label = self._link_group(a.index, b.index)
        middle = self.side.at(HEADER + NUMA_HEIGHT / 2)
        for shift in (-3, 3):
            group.append(element("line", x1=x, x2=x + BETWEEN_PACKAGES, y1=middle + shift, y2=middle + shift))
        centre = x + BETWEEN_PACKAGES / 2
        group.append(text(centre, middle - 10, label, "small", "middle"))
        if limited:
            group.append(text(centre, middle + 20, f"limits {plural(limited, 'cell')}", "small limit", "middle"))
        self.root.append(group)

    def _description(self) -> str:
        node = self.node
        hosts = [n for n in node.numa_nodes if n.kind == "host"]
        parts = [
            plural(len(node.packages), "package"),
            plural(len(hosts), "host NUMA node"),
            plural(len(node.gpus), "GPU"),
            plural(len(node.nics), "NIC"),
        ]
        words = ", ".join(parts) + "."
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
