"""The parts of a node that break as one, each with the capacities that it carries."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nearfar.model.prediction import NodeType

#: Names of capacities, and the part that carries them beside others: (pattern, name of the part, what it is).
_WHOLE = (
    (r"(g\d+)\.(?:h2d|d2h|both)", "{0}.link", "link between GPU {0} and its host, both directions"),
    (r"(g\d+)\.(?:out|in)", "{0}.nvlink", "links of GPU {0} to the NVLink switch, both directions"),
    (r"(switch:.+)\.(?:up|down)", "{0}", "uplink of PCI bridge {0}, both directions"),
)
#: Directions that break alone.
_ONE_WAY = {"h2d": "from host to GPU {0}", "d2h": "from GPU {0} to host"}


@dataclass(frozen=True)
class Part:
    """What breaks as one: ``capacities`` by name, all multiplied by one factor. ``description`` says what it is."""

    name: str
    capacities: tuple[str, ...]
    description: str


def parts_of(node_type: NodeType) -> list[Part]:
    """Every part that the node type's capacities imply, in their order.

    A GPU's link as a whole and each of its directions; a NUMA node's memory; the link between two packages; a PCI
    bridge's uplink; a pair of GPUs, or a GPU's lanes to an NVLink switch.
    """
    found: dict[str, tuple[list[str], str]] = {}

    def add(name: str, capacity: str, words: str) -> None:
        found.setdefault(name, ([], words))[0].append(capacity)

    for name in node_type.capacities:
        packages = re.fullmatch(r"p(\d+)-p(\d+)", name)
        memory = re.fullmatch(r"n(\d+)\.memory", name)
        for pattern, whole, words in _WHOLE:
            match = re.fullmatch(pattern, name)
            if match:
                add(whole.format(match[1]), name, words.format(match[1].lstrip("g")))
        if packages:
            a, b = sorted(map(int, packages.groups()))
            add(f"p{a}-p{b}.link", name, f"link between packages {a} and {b}, both directions")
        elif memory:
            add(name, name, f"memory of NUMA node {memory[1]}")
        gpu, _, way = name.partition(".")
        if way in _ONE_WAY:
            add(name, name, f"link {_ONE_WAY[way].format(gpu[1:])}, that direction alone")
    for cell, cap in node_type.caps.items():
        if {flow.kind for flow in cell.flows} == {"peer"} and len({frozenset(flow.gpus) for flow in cell.flows}) == 1:
            a, b = sorted(cell.flows[0].gpus)
            if not any(flow.staged for flow in cell.flows):
                add(f"g{a}-g{b}.link", cap.name, f"link between GPUs {a} and {b}, both directions")
    return [Part(name, tuple(names), words) for name, (names, words) in found.items()]
