"""The node drawn as nested boxes: packages with their NUMA nodes, PCI bridges that devices share, GPUs and NICs, each GPU's link with its
rates, the links between GPUs. A device stands below the NUMA node that the system says it belongs to; where the system does not say, below
its package, or apart."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from operator import itemgetter

from markupsafe import Markup

from nearfar.base import Finding
from nearfar.report.figures import SIGNS, Figure, link_words, number, numbers, plural, wording
from nearfar.topology import OWN_LINKS, Gpu, Nic, Node, NumaNode, format_cpu_list, shared_uplinks

from .svg import element, markup

#: So many links of GPUs that are not all alike stand one by one.
_MOST_LINKS = 16
#: Packages of more devices in all stand below each other.
_SIDE_BY_SIDE = 10


@dataclass(frozen=True)
class Findings:
    """What is known beside the node itself. Keys are GPU numbers; ``lanes`` has the near figures of ``h2d`` and ``d2h`` for each;
    ``shared`` is what each link that devices share carries, by ``switch:`` and the PCI bridge (``↓ ≥ 24.6 ↑ ≥ 25.1``) and by ``p0-p1``;
    ``blamed`` are the parts that explain what is slow (``g2.link``, ``n0.memory``), with their mark's verdict, ``explained`` the cells that
    are slow because of them; ``ring`` says of each GPU where NCCL's ring goes on."""

    lanes: dict[int, dict[str, Figure]] = field(default_factory=dict)
    links: dict[int, str] = field(default_factory=dict)
    absent: dict[int, str] = field(default_factory=dict)
    faults: dict[int, Finding] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    blamed: dict[str, str] = field(default_factory=dict)
    explained: frozenset[str] = frozenset()
    ring: dict[int, str] = field(default_factory=dict)

    def mark(self, *parts: str) -> str:
        """The verdict that a part which stands in the drawing is marked with; empty where none of its names (a name, or its beginning up
        to a dot) is blamed."""
        blamed = ((f"{part}.", word) for part, word in self.blamed.items())
        return next((word for part, word in blamed for own in parts if part.startswith(f"{own}.")), "")


def marked(words: str, mark: str) -> str:
    """The words of a part with the sign of its mark, where it has one."""
    return f"{words} {SIGNS[mark]}" if mark else words


@dataclass(frozen=True)
class AbsentGpu:
    """A GPU that should be there and is not."""

    index: int
    reason: str


Device = Gpu | Nic | AbsentGpu
#: A NUMA node, none of devices whose own is not known, and the devices below it.
Column = tuple[NumaNode | None, list[Device]]
#: The bus address of a bridge, and the devices behind it.
Bridge = tuple[str, frozenset[str]]


def draw(node: Node, findings: Findings) -> Markup:
    """The whole drawing, as HTML."""
    return markup(_Drawing(node, findings).root())


class _Drawing:
    def __init__(self, node: Node, findings: Findings) -> None:
        self._node, self._findings = node, findings
        gpus = {f"g{gpu.index}" for gpu in node.gpus}
        shared = ((bridge, frozenset(names)) for bridge, names in shared_uplinks(node).items())
        #: Those above GPUs, the outermost first.
        self._bridges = sorted((each for each in shared if gpus & each[1]), key=lambda each: -len(each[1]))

    def root(self) -> ET.Element:
        many = len(self._node.gpus) + len(self._node.nics) > _SIDE_BY_SIDE
        packages = element("div", class_="packages stacked" if many else "packages")
        last: int | None = None
        for index, title, columns in self._packages():
            if last is not None and index is not None:
                packages.append(self._package_link(last, index))
            class_ = "package" if index is not None else "package unknown"
            inner = element("div", *(self._column(*column) for column in columns), class_="columns")
            packages.append(element("div", element("div", title, class_="label"), inner, class_=class_))
            last = index
        drawn = element("div", packages, class_="node", role="group", aria_label=self._description())
        if links := list(self._links()):
            drawn.append(element("div", *links, class_="links"))
        return drawn

    def _packages(self) -> Iterator[tuple[int | None, str, list[Column]]]:
        """Index (none: of devices whose place is not known), title and columns."""
        node, hosts = self._node, self._node.host_numa_nodes
        present = {gpu.index for gpu in node.gpus}
        ghosts = [AbsentGpu(i, why) for i, why in sorted(self._findings.absent.items()) if i not in present]
        left: list[Device] = [*node.gpus, *node.nics, *ghosts]
        homes = sorted({p.index for p in node.packages} | {n.package for n in hosts if n.package is not None}) or [0]
        for package in homes:
            # What says nothing of its place is in the only package.
            own = {package, None} if len(homes) == 1 else {package}
            mine = sorted((n for n in hosts if n.package in own), key=lambda n: n.index)
            columns: list[Column] = [(n, [d for d in left if getattr(d, "numa_node", None) == n.index]) for n in mine]
            left = [d for d in left if not any(d in devices for _, devices in columns)]
            loose = [d for d in left if getattr(d, "package", None) in own]
            left = [d for d in left if d not in loose]
            if len(columns) == 1:
                columns[0][1].extend(loose)
            elif loose or not columns:
                columns.append((None, loose))
            cpus = sum(len(p.cpus) for p in node.packages if p.index == package) or sum(len(n.cpus) for n in mine)
            named = f"Package {package}" if node.packages else "packages not stated"
            yield package, named + (f" · {plural(cpus, 'CPU')}" if cpus else ""), columns
        if left:
            yield None, "place unknown: the system does not report where", [(None, left)]

    def _column(self, numa: NumaNode | None, devices: Sequence[Device]) -> ET.Element:
        column = element("div", *([] if numa is None else [self._numa(numa)]), class_="column")
        if devices:
            column.append(element("div", *self._below(devices, self._bridges), class_="devices"))
        return column

    def _numa(self, numa: NumaNode) -> ET.Element:
        mark = self._findings.mark(f"n{numa.index}")
        allowed = self._node.allowed_numa_nodes is None or numa.index in self._node.allowed_numa_nodes
        # Where no NUMA node shows any CPU, or a MiB of memory, nobody said how much there is.
        none = "no CPUs" if any(each.cpus for each in self._node.numa_nodes) else "CPUs not stated"
        cpus = f"CPUs {format_cpu_list(numa.cpus)}" if numa.cpus else none
        size = wording.size(numa.memory) if numa.memory >= 2**20 else "size not stated" if numa.memory else "no memory"
        words = [element("b", marked(f"NUMA {numa.index}", mark)), element("span", size)]
        words.append(element("small", cpus if allowed else f"{cpus}, not allowed to this process"))
        return element("div", *words, class_=f"numa {mark or ('' if numa.memory else 'empty')}".strip())

    def _below(self, devices: Sequence[Device], bridges: Sequence[Bridge]) -> list[ET.Element]:
        """GPUs, then NICs, those behind a bridge in its box; ``bridges``: the outermost first."""
        found, left = [], list(devices)
        for bridge, names in bridges:
            if mine := [device for device in left if _key(device) in names]:
                left = [device for device in left if device not in mine]
                inner = self._below(mine, [each for each in bridges if each[1] < names])
                behind = element(
                    "div", self._switch(bridge, names), element("div", *inner, class_="devices"), class_="behind"
                )
                found.append((min(map(_place, mine)), behind))
        found += [(_place(device), self._device(device)) for device in left]
        return [each for _, each in sorted(found, key=itemgetter(0))]

    def _switch(self, bridge: str, names: frozenset[str]) -> ET.Element:
        name = f"switch:{bridge}"
        mark, rate = self._findings.mark(name), self._findings.shared.get(name, "")
        label = f"uplink {bridge.split(':', 1)[-1]} {rate}".rstrip()
        words = f"PCI bridge {bridge}, shared by {', '.join(sorted(names))}"
        return element("div", marked(label, mark), class_=f"switch {mark}".strip(), title=words)

    def _device(self, device: Device) -> ET.Element:
        """A device below its link."""
        lines: tuple[str, ...]
        if isinstance(device, AbsentGpu):
            lines, class_, title = (
                (f"GPU {device.index}", f"{SIGNS['FAIL']} absent", "expected here"),
                "gpu ghost",
                device.reason,
            )
        elif isinstance(device, Nic):
            link = link_words(device.link)
            lines, class_ = ("NIC", device.name, link if device.link.gen else ""), "nic"
            title = f"NIC {device.name} at {device.pci}, {link}"
        else:
            lines, class_, title = self._gpu(device)
        words = [element("b", lines[0]), *(element("small", line) for line in lines[1:] if line)]
        lanes = [] if isinstance(device, Nic) else self._lanes(device.index)
        return element("div", *lanes, element("div", *words, class_=class_, title=title), class_="device")

    def _gpu(self, gpu: Gpu) -> tuple[tuple[str, ...], str, str]:
        """Lines, class and tooltip of a GPU's box."""
        fault = self._findings.faults.get(gpu.index)
        own = [f"g{gpu.index}.{part}" for part in ("memory", "nvlink", "out", "in")]
        verdict = self._findings.mark(*own) if fault is None else fault.verdict
        name = (gpu.name or "GPU").replace("NVIDIA ", "").replace("AMD Instinct ", "").replace("Tesla ", "")
        link = self._findings.links.get(gpu.index) or link_words(gpu.link, most=True)
        words = f"GPU {gpu.index}: {gpu.name or 'model unknown'} at {gpu.pci}, {link}"
        words += "" if fault is None else f". {fault.reason}"
        last = link if gpu.visible else "hidden from this process"
        lines = marked(f"GPU {gpu.index}", verdict), name, last, self._findings.ring.get(gpu.index, "")
        return lines, f"gpu {verdict}".strip(), words

    def _lanes(self, index: int) -> list[ET.Element]:
        """Both directions of a GPU's link with their rates; nothing where none was asked for."""
        lanes, made = self._findings.lanes.get(index), []
        for direction, arrow in (("h2d", "↓"), ("d2h", "↑")) if lanes is not None else ():
            figure = lanes.get(direction) if lanes else None
            mark, state = (
                self._findings.mark(f"g{index}.link", f"g{index}.{direction}"),
                figure.shown if figure else "none",
            )
            # What is slow because of another part is marked less than that part.
            follows = not mark and figure is not None and str(figure.cell) in self._findings.explained
            state = mark or state
            sign = SIGNS[state] if not follows and state in ("FAIL", "DEGRADED", "INDETERMINATE") else ""
            value = number(figure.value, figure.unit) if figure else "none"
            title = figure.sentence if figure else "not measured"
            made.append(
                element(
                    "span",
                    f"{sign}{arrow}\u202f{value}",
                    class_=f"lane {state} {'follows' if follows else 'cause' if mark else ''}".rstrip(),
                    title=title,
                )
            )
        return [element("div", *made, class_="lanes")] if made else []

    def _package_link(self, a: int, b: int) -> ET.Element:
        several = "Links between packages; which are direct is not known"
        words = f"The link between packages {a} and {b}" if len(self._node.packages) < 3 else several
        mark = self._findings.mark(f"p{a}-p{b}", f"p{b}-p{a}")
        rate = self._findings.shared.get(f"p{a}-p{b}", "")
        label = [element("span", marked("package link", mark)), *([element("span", rate)] if rate else [])]
        return element("div", *label, class_=f"package-link {mark}".strip(), title=words)

    def _links(self) -> Iterator[ET.Element]:
        """The links between GPUs: one box where every pair of some has the same, else one for each pair where they are few."""
        drawn = {gpu.index for gpu in self._node.gpus}
        links = {
            pair: link
            for pair, link in self._node.peers.items()
            if link.startswith(OWN_LINKS) and drawn.issuperset(pair)
        }
        for members in _components(links):
            mine = {pair: link for pair, link in sorted(links.items()) if pair[0] in members}
            kinds, every = set(mine.values()), len(mine) == len(members) * (len(members) - 1) // 2
            if len(members) > 2 and (len(mine) > _MOST_LINKS or (every and len(kinds) == 1)):
                yield self._link(
                    sorted(members), " and ".join(sorted(kinds)), "every pair" if every else plural(len(mine), "pair")
                )
            else:
                yield from (self._link(list(pair), link) for pair, link in mine.items())

    def _link(self, members: Sequence[int], link: str, which: str = "") -> ET.Element:
        generation = next(
            (g.nvlink_generation for g in self._node.gpus if g.index in members and g.nvlink_generation), None
        )
        name = "xGMI" if link == "XGMI" else f"NVLink{f' {generation}' if generation else ''}: {link}"
        words = (
            f"{name} between {which} of GPUs {numbers(members)}"
            if which
            else f"GPU {members[0]} – GPU {members[1]}: {link}"
        )
        blamed = [(f"GPU {a} ↔ GPU {b}", self._findings.mark(f"g{a}-g{b}")) for a, b in combinations(members, 2)]
        told = [(pair, mark) for pair, mark in blamed if mark]
        named = (
            f"{words}, {', '.join(marked(*each) for each in told)}"
            if which and told
            else marked(words, told[0][1] if told else "")
        )
        return element("div", named, class_=" ".join(["fabric", *(mark for _, mark in told[:1])]))

    def _description(self) -> str:
        node = self._node
        parts = {"package": node.packages, "host NUMA node": node.host_numa_nodes, "GPU": node.gpus, "NIC": node.nics}
        words = f"Node {node.hostname}: {', '.join(plural(len(found), what) for what, found in parts.items())}."
        words += "".join(f" GPU {index} is absent: {why}." for index, why in sorted(self._findings.absent.items()))
        return words + "".join(
            f" GPU {i} {fault.verdict}: {fault.reason}." for i, fault in sorted(self._findings.faults.items())
        )


def _key(device: Device) -> str:
    """``g0``, or a NIC's name: what bridges list."""
    return device.name if isinstance(device, Nic) else f"g{device.index}"


def _place(device: Device) -> tuple[int, int, str]:
    return (1, 0, device.pci) if isinstance(device, Nic) else (0, device.index, "")


def _components(links: Iterable[tuple[int, int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for pair in links:
        touching = [group for group in found if group & set(pair)]
        found = [group for group in found if group not in touching] + [set(pair).union(*touching)]
    return found
