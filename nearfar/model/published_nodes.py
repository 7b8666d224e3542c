"""Real nodes whose owners published measurements (``site/published-nodes/``): topology, state, and captured figures by cell.

Their figures stand beside predictions and are never an input of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile
from nearfar.cells import Cell, Flow, parse
from nearfar.topology import Gpu, Link, Node, NumaNode, Package

from .prediction import NodeType, check_endpoints, of_topology

FOLDER = "published-nodes"
#: What a pattern of cells begins with that is one cell of all GPUs.
_ALL = "all "
_Range = tuple[float, float]


@dataclass(frozen=True)
class CapturedFigure:
    """A captured rate, GB/s: of all flows of ``cell`` together, or of one ``flow`` of it; ``capture`` is its place in the file's list.

    Of figures of which only the range was published, ``least`` and ``greatest`` are that range and ``value`` is its middle.
    ``until_last``: a total of equal amounts, over the time until the last flow has ended. ``set_aside``: of something else than the cell.
    """

    cell: Cell
    flow: Flow | None
    least: float
    greatest: float
    capture: int
    until_last: bool = False
    set_aside: bool = False

    @property
    def value(self) -> float:
        """The captured rate, GB/s."""
        return (self.least + self.greatest) / 2

    def __str__(self) -> str:
        """As in a file: the cell, and the flow that it is of."""
        return str(self.cell) if self.flow is None else f"{self.cell} of {self.flow}"


@dataclass(frozen=True, eq=False)
class PublishedNode:
    """A node with what its owner published. ``state`` is ``healthy``, ``question`` or ``fault``."""

    state: str
    node_type: NodeType
    figures: tuple[CapturedFigure, ...]
    captures: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        """As its folder is called."""
        return self.node_type.name


def node_files(directories: Sequence[Path]) -> dict[str, Path]:
    """The files of published nodes by name; of two with one name the earlier directory's counts."""
    files: dict[str, Path] = {}
    for directory in directories:
        for path in sorted((directory / FOLDER).glob("*/node.yaml")):
            files.setdefault(path.parent.name, path)
    return files


def published_nodes(directories: Sequence[Path]) -> list[PublishedNode]:
    """Every published node of the site's directories, by name."""
    return [from_file(SiteFile(path), directories) for _, path in sorted(node_files(directories).items())]


def from_file(file: SiteFile, directories: Sequence[Path]) -> PublishedNode:
    """The node that a file describes; ``directories`` know its GPU's model. Raises ``SiteFileError``."""
    file.check("published-node-1")
    file.check_finite()
    data, name = file.data, file.path.parent.name
    if data["node"] != name:
        raise file.error(f"node: '{data['node']}' in a folder called {name}: use one name for both", "node")
    if (data["state"] == "fault") != ("fault" in data):
        raise file.error("fault: what is at fault belongs to state: fault, and only to it", "state")
    for key in data.get("assumed", {}):
        if key not in data["topology"]:
            raise file.error(f"assumed: {key}: is not a key of topology in this file", "assumed", key)
    node = topology_node(file, name)
    known = of_topology(name, node, directories, data["description"])
    node_type = replace(known, chips=data["topology"].get("chips", ()), source=data["source"], file=file.path)
    figures = [figure for place in range(len(data["captures"])) for figure in _figures(file, node, place)]
    return PublishedNode(data["state"], node_type, tuple(figures), tuple(data["captures"]))


def topology_node(file: SiteFile, name: str) -> Node:
    """The node of a file's ``topology``; a NUMA node's one CPU stands for all that it has, a byte for its memory."""
    top = file.data["topology"]
    packages = {numa: index for index, listed in enumerate(top["packages"]) for numa in listed}
    if len(packages) != sum(map(len, top["packages"])):
        raise file.error("packages: a NUMA node is listed twice", "topology", "packages")
    for place, numa in enumerate(top["gpus"]):
        if numa is not None and numa not in packages:
            raise file.error(f"gpus: no package has NUMA node {numa}", "topology", "gpus", place)
    count = len(top["gpus"])
    for place, group in ((place, group) for place, chip in enumerate(top.get("chips", ())) for group in chip):
        if group not in top.get("switches", ()):
            raise file.error(f"chips: {group}: switches has no such group", "topology", "chips", place)
    groups = [*top.get("switches", ()), *top.get("host_bridges", ())]
    pairs: Mapping[str, list[list[int]]] = top.get("pairs", {})
    for group in [*groups, *(pair for listed in pairs.values() for pair in listed)]:
        if max(group) >= count:
            raise file.error(f"g{max(group)}: this node's GPUs are g0 to g{count - 1}", "topology", "gpus")
    for name in top.get("links", {}):
        if name not in {f"g{gpu}" for gpu in range(count)}:
            raise file.error(f"links: {name}: this node's GPUs are g0 to g{count - 1}", "topology", "links", name)
    for link, listed in pairs.items():
        if not re.fullmatch(r"NV[1-9][0-9]?|XGMI", link) or any(len(set(pair)) != 2 for pair in listed):
            raise file.error(
                f"pairs: {link}: give pairs by NVLink lanes or as XGMI, such as {{NV2: [[0, 3]]}}",
                "topology",
                "pairs",
                link,
            )
    peers = {(min(pair), max(pair)): link for link, listed in pairs.items() for pair in listed}
    if "nvlinks" in top:
        peers = {(a, b): f"NV{top['nvlinks']}" for a in range(count) for b in range(a + 1, count)}
    return Node(
        hostname=f"{name}-published",
        packages=tuple(
            Package(index, tuple(sorted(listed)), top.get("cpu")) for index, listed in enumerate(top["packages"])
        ),
        numa_nodes=tuple(
            NumaNode(numa, package, (numa,), 1, peak=top.get("memory")) for numa, package in sorted(packages.items())
        ),
        gpus=tuple(_gpu(top, index, packages) for index in range(count)),
        peers=peers,
    )


def _gpu(top: Mapping[str, Any], index: int, packages: Mapping[int, int]) -> Gpu:
    numa = top["gpus"][index]
    link = top.get("links", {}).get(f"g{index}") or top.get("link")
    switches = sorted((group for group in top.get("switches", ()) if index in group), key=len)
    bridges = [group for group in top.get("host_bridges", ()) if index in group]
    lanes = top.get("nvlinks") or sum(
        int(name[2:])
        for name, pairs in top.get("pairs", {}).items()
        for pair in pairs
        if index in pair and name != "XGMI"
    )
    return Gpu(
        index,
        f"0000:{index:02x}:00.0",
        name=top["gpu_model"],
        numa_node=numa,
        package=None if numa is None else packages[numa],
        link=Link() if link is None else Link(max_gen=link["gen"], max_width=link["width"], **link),
        uplinks=(f"port:{index}", *("-".join(map(str, sorted(group))) for group in switches)),
        host_bridge=f"bridge:{min(bridges[0])}" if bridges else f"bridge:{index}",
        nvlink_generation=top.get("nvlink_generation"),
        nvlinks=lanes or None,
    )


def _figures(file: SiteFile, node: Node, capture: int) -> Iterator[CapturedFigure]:
    for pattern, values in file.data["captures"][capture]["figures"].items():
        steps = ("captures", capture, "figures", pattern)
        try:
            for cell, flow, (least, greatest) in _expanded(str(pattern), values, node):
                check_endpoints(node, cell, "the topology")
                if flow is not None and flow not in cell.flows:
                    raise NearfarError(f"{flow} is not a flow of {cell}")
                of = file.data["captures"][capture]
                until_last, set_aside = of.get("until_last", False), "set_aside" in of
                yield CapturedFigure(cell, flow, least, greatest, capture, until_last, set_aside)
        except NearfarError as error:
            raise file.error(f"{pattern}: {error}", *steps) from None


def _expanded(pattern: str, values: Any, node: Node) -> Iterator[tuple[Cell, Flow | None, _Range]]:
    """The cells and flows of a pattern with their values."""
    if isinstance(values, dict) and "{a}" in pattern:
        values = [values] * len(node.gpus)
        if "{b}" in pattern and not pattern.startswith(_ALL):
            values = [values] * len(node.gpus)
    text, _, of = pattern.removeprefix(_ALL).partition(" of ")
    if pattern.startswith(_ALL):
        hubs = range(len(node.gpus)) if "{b}" in pattern else [None]
        for place, hub in enumerate(hubs):
            cell = parse("+".join(_filled(text, node, a, hub) for a in range(len(node.gpus)) if a != hub))
            if hub is None and isinstance(values, list):
                for a, value in enumerate(_row(values, node)):
                    if value is not None:
                        yield cell, _flow(_filled(of or text, node, a, None)), value
            else:
                value = _row(values, node)[place] if hub is not None else _number(values)
                if value is not None:
                    yield cell, None, value
        return
    places: list[tuple[int | None, int | None, _Range | None]]
    if "{b}" in pattern:
        rows = [_row(line, node) for line in _row(values, node, whole=True)]
        places = [(a, b, rows[a][b]) for a in range(len(rows)) for b in range(len(rows)) if a != b]
    elif "{a}" in pattern:
        places = [(a, None, value) for a, value in enumerate(_row(values, node))]
    else:
        places = [(None, None, _number(values))]
    for row, column, value in places:
        if value is not None:
            flow = _flow(_filled(of, node, row, column)) if of else None
            yield parse(_filled(text, node, row, column)), flow, value


def _filled(text: str, node: Node, a: int | None, b: int | None) -> str:
    """The pattern with the numbers of its GPUs, and of the NUMA node of GPU ``a``."""
    near = None if a is None else node.gpus[a].numa_node
    if "{near}" in text and near is None:
        raise NearfarError(f"the NUMA node of g{a} is not published")
    known = {"a": a, "b": b, "near": near}
    for name in re.findall(r"\{(\w+)\}", text):
        if name not in known:
            raise NearfarError(f"{{{name}}}: a pattern has {{a}}, {{b}} and {{near}}")
    return re.sub(r"\{(\w+)\}", lambda match: str(known[match[1]]), text)


def _flow(text: str) -> Flow:
    return parse(text).flows[0]


def _row(values: Any, node: Node, whole: bool = False) -> list[Any]:
    """A list with an entry for each GPU (``whole``: of lists)."""
    if not isinstance(values, list) or len(values) != len(node.gpus):
        raise NearfarError(f"give a list of {len(node.gpus)} entries, one for each GPU (null: not published)")
    return values if whole else [_number(value) for value in values]


def _number(value: Any) -> _Range | None:
    if value is None:
        return None
    if isinstance(value, dict):
        least, greatest = (_number(value.get(key)) for key in ("least", "greatest"))
        if least is None or greatest is None or least > greatest:
            raise NearfarError("of a range give least and greatest, GB/s")
        return least[0], greatest[1]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
        raise NearfarError(f"{value!r} is not a rate in GB/s")
    return float(value), float(value)
