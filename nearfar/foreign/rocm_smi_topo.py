"""``rocm-smi --showtopo``, ``--showtoponuma``, ``amd-smi topology``: pairs of AMD GPUs that xGMI joins, their NUMA nodes if shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nearfar.topology import Gpu, Node, NumaNode, normal_bus_id

from .nvidia_smi_topo import SOME_MEMORY, unknown_pci
from .output import ForeignOutput, Truncated, command_line

TOOL = "rocm-smi --showtopo"
_LINKS = re.compile(r"^=+ Link Type between two GPUs =+\s*$|^LINK TYPE TABLE:\s*$", re.MULTILINE)
SIGN = re.compile(rf"{_LINKS.pattern}|^=+ Numa Nodes =+\s*$", re.MULTILINE)
_NAME = re.compile(r"GPU\d+|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_WORD = re.compile(r"XGMI|PCIE|SELF|0|N/A|UNKNOWN")
_NUMA = re.compile(r"^GPU\[(\d+)\]\s*: \(Topology\) Numa Node: (\d+)\s*$", re.MULTILINE)


def read(text: str) -> ForeignOutput:
    """The node of the first table of link types; of NUMA nodes alone one whose GPUs have unknown links. Raises ``Truncated`` where it
    lacks rows or columns."""
    found = _LINKS.search(text)
    numa = {int(index): int(node) for index, node in _NUMA.findall(text)}
    if found is None and numa:
        return _output(text, [f"GPU{index}" for index in sorted(numa)], {}, numa)
    lines = [line.split() for line in text[found.end() if found else 0 :].split("\n") if line.strip()]
    names = lines[0] if lines else []
    table = {row[0]: row[1:] for row in lines[1 : 1 + len(names)]}
    whole = all(len(row) == len(names) and all(map(_WORD.fullmatch, row)) for row in table.values())
    if not names or list(table) != names or not all(map(_NAME.fullmatch, names)) or not whole:
        raise Truncated(f"{TOOL}: the table of link types is cut short, or broken into other lines")
    pairs = {(a, b): table[one][b] for a, one in enumerate(names) for b in range(a + 1, len(names))}
    return _output(text, names, pairs, numa)


def _output(
    text: str, names: Sequence[str], pairs: Mapping[tuple[int, int], str], numa: Mapping[int, int]
) -> ForeignOutput:
    gpus = tuple(
        Gpu(at, normal_bus_id(name) if ":" in name else unknown_pci(at), numa_node=numa.get(at), vendor="amd")
        for at, name in enumerate(names)
    )
    memories = tuple(NumaNode(index, None, (), SOME_MEMORY) for index in sorted(set(numa.values()) or {0}))
    notes = (f"{TOOL} does not record which package a NUMA node is of",) if len(memories) > 1 else ()
    peers = {pair: "XGMI" if word == "XGMI" else "unknown" for pair, word in pairs.items()}
    node = Node(hostname="", packages=(), numa_nodes=memories, gpus=gpus, peers=peers, notes=notes)
    return ForeignOutput(TOOL, command=command_line(text.split("\n"), "rocm-smi"), node=node)
