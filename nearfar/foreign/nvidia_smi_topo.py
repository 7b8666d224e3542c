"""``nvidia-smi topo -m``: the classes of pairs of GPUs and of GPUs and NICs, and each GPU's CPUs and NUMA node. It has no PCI addresses,
packages or models."""

from __future__ import annotations

import re

from nearfar.base import NearfarError
from nearfar.topology import Gpu, Nic, Node, NumaNode, parse_cpu_list

from .output import ForeignOutput, Truncated, command_line

TOOL = "nvidia-smi topo -m"
SIGN = re.compile(r"^GPU0\b.*\n(?:\s*\n)*\s*GPU0\s+X\b", re.MULTILINE)
_CLASS = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|PCIE|NS|OK|N/A")
#: What a NUMA node holds is not in it; it is host memory all the same.
SOME_MEMORY = 1
#: Classes of paths that stay within a NUMA node.
_WITHIN = ("PIX", "PXB", "PHB", "NODE")
_LEGEND = re.compile(r"^\s*(NIC\d+): ([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\s*$", re.MULTILINE)


def unknown_pci(device: int | str) -> str:
    """The place of a device's bus id where nobody gives it: one for each GPU, or NIC."""
    return f"unknown-{device}"


def read(text: str) -> ForeignOutput:
    """The node of the first table in a log. Raises ``Truncated`` where it lacks rows or columns."""
    found = SIGN.search(text)
    lines = text[found.start() if found else 0 :].split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    names = re.findall(r"GPU\d+(?!\S)", lines[0])
    columns = re.findall(r"CPU Affinity|GPU NUMA ID|NUMA Affinity|\S+", lines[0])
    devices = next((at for at, name in enumerate(columns) if name.endswith("Affinity")), len(columns))
    rows: dict[str, list[str]] = {}
    nics: dict[str, list[str]] = {name: [] for name in columns[len(names) : devices]}
    for row in lines[1:]:
        entries = row.split()
        if entries and entries[0] in names and entries[0] not in rows:
            rows[entries[0]] = entries[1:]
        elif entries and entries[0] in nics:
            nics[entries[0]] = entries[1:]
        elif entries and entries[0].startswith("Legend"):
            break
    if list(rows) != names or any(len(row) < devices for row in rows.values()):
        raise Truncated(f"{TOOL}: {len(rows)} rows of {len(names)} GPUs: the table is cut short")
    if odd := next((w for row in rows.values() for w in row[:devices] if not _CLASS.fullmatch(w)), None):
        raise Truncated(f"{TOOL}: '{odd[:20]}' is not a path class: the table was broken into other lines")
    places = {name: dict(zip(columns[devices:], row[devices:])) for name, row in {**rows, **nics}.items()}
    cpus = {name: _cpus(places[name].get("CPU Affinity", "")) for name in names}
    numbered = {each: at for at, each in enumerate(sorted({each for each in cpus.values() if each}))}
    told = {name: place.get("NUMA Affinity", "") for name, place in places.items()}
    if any("NUMA Affinity" in places[name] for name in names):
        numa = {name: int(told[name]) if told[name].isdecimal() else None for name in names}
    else:
        numa = {name: numbered.get(cpus[name]) for name in names}
    memories = {number: cpus[name] for name, number in reversed(numa.items()) if number is not None}
    if not memories:
        numa, memories = dict.fromkeys(names, None), {0: ()}
    gpus = [Gpu(index, unknown_pci(index), numa_node=numa[name]) for index, name in enumerate(names)]
    peers = {(a, b): _peer(rows[first][b]) for a, first in enumerate(names) for b in range(a + 1, len(names))}
    legend = dict(_LEGEND.findall(text))
    beside = []
    for at, name in enumerate(nics, len(names)):
        paths = {index: _peer(rows[gpu][at]) for index, gpu in enumerate(names)}
        near = {numa[names[index]] for index, way in paths.items() if way in _WITHIN}
        own = int(told[name]) if told[name].isdecimal() else near.pop() if len(near) == 1 else None
        nic = legend.get(name, name)
        beside.append(Nic(nic, unknown_pci(nic), own if own in memories else None, paths=paths))
    notes = (f"{TOOL} does not record which package a NUMA node is of",) if len(memories) > 1 else ()
    node = Node(
        hostname="", packages=(), gpus=tuple(gpus), nics=tuple(beside), peers=peers, notes=notes,
        numa_nodes=tuple(NumaNode(number, None, each, SOME_MEMORY) for number, each in sorted(memories.items())),
    )  # fmt: skip
    return ForeignOutput(TOOL, command=command_line(text.split("\n"), "nvidia-smi"), node=node)


def _cpus(words: str) -> tuple[int, ...]:
    try:
        return parse_cpu_list(words.rstrip(","))
    except NearfarError:
        return ()


def _peer(word: str) -> str:
    """The class in nearfar's words; what crosses from one NUMA node to another may stay on its package or not."""
    return word if re.fullmatch(r"NV\d+|PIX|PXB|PHB|NODE", word) else "unknown"
